/* command.c - run the verbs that a single Ack answers */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/innet-ctl/ctl.h"

/* Write the body of the request to p, and return its length. */
static size_t
put_body(const struct ctl_options *options, uint8_t *p)
{
	switch (options->action) {
	case CONTROL_JOIN:
		return (size_t)(control_put_join(p, &options->join) - p);
	case CONTROL_LEAVE:
		return options->expelled < 0 ? 0 : (size_t)(bytes_put(p,
		    (uint64_t)options->expelled, 4) - p);
	case CONTROL_RESET: *p = 1; return options->disbands;
	case CONTROL_SETH: return (size_t)(bytes_put(p, options->h, 2) - p);
	case CONTROL_FBCAST:
	case CONTROL_HELP: return (size_t)(bytes_put(p, options->seg, 8) - p);
	case CONTROL_REGROUP:
		return (size_t)(control_put_regroup(p, &options->regroup) - p);
	default: return 0;
	}
}

/*
 * Print the answer in words.  If the answer reports only success, print
 * nothing.
 */
static void
print_words(const struct ask_answer *w)
{
	const struct control_ack *k = &w->ack;

	if (w->kind == ASK_SEGMENT)
		printf("%" PRIu32 ":%" PRIu32 ": sent, %u contributions, %"
		    PRIu32 " floats\n", w->seg.iteration, w->seg.index,
		    w->seg.contributions, w->seg.n);
	else if (w->kind == ASK_HELP)
		printf("%" PRIu32 ":%" PRIu32 ": not complete; the switch has "
		    "requested the missing contributions\n", w->seg.iteration,
		    w->seg.index);
	else if (k->action == CONTROL_JOIN)
		printf("member %u of %u, h %u, next iteration %" PRIu32 ", "
		    "%" PRIu32 " elements, %u floats in a segment, removed "
		    "after %u s of silence\n", k->member, k->members, k->h,
		    k->next,
		    k->elements, k->floats, k->timeout_s);
	else if (k->action == CONTROL_SETH)
		printf("h was %u\n", k->h);
	else if (k->action == CONTROL_FBCAST)
		printf("%u contributions\n", k->contributions);
	else if (k->action == CONTROL_HELP)
		puts("requested; nothing has arrived yet");
}

/* Print the fields of an Ack to complete a JSON object. */
static void
print_json_ack(const struct control_ack *k)
{
	printf(",\"status\":%u,\"reason\":\"%s\"", k->status,
	    control_status_text(k->status));
	if (k->action == CONTROL_JOIN)
		printf(",\"member\":%u,\"h\":%u,\"members\":%u,\"next\":%"
		    PRIu32 ",\"elements\":%" PRIu32 ",\"floats\":%u,"
		    "\"timeout_s\":%u", k->member, k->h, k->members, k->next,
		    k->elements, k->floats, k->timeout_s);
	else if (k->action == CONTROL_SETH)
		printf(",\"former_h\":%u", k->h);
	else if (k->action == CONTROL_FBCAST)
		printf(",\"contributions\":%u", k->contributions);
}

static void
print_json(const struct ask *a, const struct ctl_options *options,
    const struct ask_answer *w)
{
	const struct seg *s = &w->seg;

	printf("{\"peer\":\"%s\",\"job\":%u,\"verb\":\"%s\"", a->peer,
	    a->job, control_action_name(options->action));
	if (w->kind == ASK_ACK)
		print_json_ack(&w->ack);
	else
		printf(",\"status\":0,\"reason\":\"%s\",\"iteration\":%" PRIu32
		    ",\"index\":%" PRIu32, w->kind == ASK_HELP ? "asked" :
		    "sent", s->iteration, s->index);
	if (w->kind == ASK_SEGMENT)
		printf(",\"contributions\":%u,\"floats\":%" PRIu32,
		    s->contributions, s->n);
	puts("}");
}

int
command_run(const struct ctl_options *options, struct ask *a)
{
	uint8_t body[CONTROL_JOIN_MAX];
	struct ask_answer w;
	bool refused;

	if (options->action == CONTROL_REGROUP)
		a->job = options->regrouped;
	if (!ask_request(a, options->action, body, put_body(options, body), &w))
		return 1;
	refused = w.kind == ASK_ACK && w.ack.status != CONTROL_DONE;
	if (options->json)
		print_json(a, options, &w);
	else if (!refused)
		print_words(&w);
	if (refused)
		ask_refused(a, &w.ack);
	return refused;
}
