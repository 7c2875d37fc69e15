/* peer-check.c - find out why no model arrives; see peer-check.h */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/base/message.h"
#include "common/net/timer.h"
#include "common/wire/control.h"

#include "cmd/innet-worker/peer-check.h"

#define FIRST_NS 250000000u /* time without a model before the first request */
#define AGAIN_NS 1000000000u	/* time between two requests */
#define REPORT_NS 1000000000u	/* time without a model before the first line is
				 * printed */
#define REPORT_AGAIN_NS 10000000000u	/* time between two lines */

/* Read the peer's counters. */
static void
read_counters(struct peer_check *q, const struct control_ack *a)
{
	cJSON *json = a->text == NULL ? NULL : cJSON_ParseWithLength(
	    (const char *)a->text, a->text_bytes);
	const cJSON *program = cJSON_GetObjectItem(json, "program");
	const cJSON *n = cJSON_GetObjectItem(json, "counters");
	const cJSON *models = cJSON_GetObjectItem(n, "models");
	const cJSON *bad = cJSON_GetObjectItem(n, "bad_proof");

	q->is_switch = cJSON_GetObjectItem(n, "no_route") != NULL;
	snprintf(q->program, sizeof(q->program), "%.15s",
	    cJSON_IsString(program) ? program->valuestring : "");
	q->has_models = cJSON_IsNumber(models) && models->valuedouble > 0;
	q->needs_tags = cJSON_IsNumber(bad) && bad->valuedouble > 0;
	cJSON_Delete(json);
}

bool
peer_check_receive(struct peer_check *q, enum channel_client_news news,
    const struct control *c)
{
	struct control_ack a;

	if (c->action != CONTROL_ACK || q->xid == 0)
		return false;
	if (news == CHANNEL_CLIENT_CHALLENGED)
		q->ask_ns = q->answered ? q->ask_ns : 0;
	if (news == CHANNEL_CLIENT_CHALLENGED || c->xid != q->xid ||
	    !control_get_ack(c, &a))
		return news == CHANNEL_CLIENT_CHALLENGED;
	q->needs_mac |= a.status == CONTROL_BAD_MAC;
	if (news != CHANNEL_CLIENT_GOOD)
		return news == CHANNEL_CLIENT_HINT;
	q->answered = true;
	read_counters(q, &a);
	return true;
}

/* Describe a possible problem with keys and tags, or return NULL. */
static const char *
describe_key_problem(const struct peer_check *q)
{
	const char *why = handshake_client_problem(q->handshake);

	if (why != NULL)
		return why;
	if (q->needs_mac)
		return q->peer->channel.key == NULL ? "it accepts "
		    "authenticated messages only; give this side its --key" :
		    "it has another key; give both the same --key";
	return q->needs_tags && !q->handshake->on
		   ? "it has dropped data without authentication tags; give "
		       "both the same --auth, and the same --key if any"
		   : NULL;
}

const char *
peer_check_explain(
    const struct peer_check *q, char words[PEER_CHECK_TEXT_BYTES])
{
	const char *what = "", *trust = describe_key_problem(q);

	if (trust != NULL)
		what = "; ";
	else if (q->xid != 0 && !q->answered)
		what = "; is a switch or server running there?";
	else if (q->answered && q->is_switch && !q->has_models)
		what = "; the switch has received none; is the server at its "
		    "--upstream running?";
	else if (q->answered && q->program[0] != '\0' && !q->has_models)
		what = "; the server has sent none; see what the server prints";
	snprintf(words, PEER_CHECK_TEXT_BYTES, "%s%s", what,
	    trust != NULL ? trust : "");
	return words;
}

/* Request the peer's counters. */
static void
send_request(struct peer_check *q, struct carrier *c)
{
	uint8_t msg[CONTROL_HEADER_BYTES + 3 + CHANNEL_CLIENT_MORE_BYTES], *p;

	q->xid = ++q->peer->xid;
	q->answered = false;
	p = control_put(msg, CONTROL_STATS, 0, q->xid);
	p = bytes_put(p, 0, 2);		/* the first page */
	*p++ = CONTROL_SCOPE_SWITCH;
	udp_transmit_send(&c->out, &c->cf->to, CONTROL_TOS, msg,
	    channel_client_protect(&q->peer->channel, msg, (size_t)(p - msg)),
	    timer_wall_ns());
}

/* Will the peer never send a model?  If so, print the reason. */
static bool
is_wrong_peer(const struct peer_check *q, const struct carrier *c)
{
	if (!q->answered || q->program[0] == '\0')
		return false;
	if (strcmp(q->program, "olaf") != 0)
		warnx("%s: refused: it runs program %s, and this worker runs "
		    "olaf; give both the same --program", c->cf->to_name,
		    q->program);
	else if (q->handshake->status == CONTROL_UNKNOWN && !q->handshake->open)
		warnx("%s: refused: %s", c->cf->to_name,
		    handshake_client_problem(q->handshake));
	else
		return false;
	return true;
}

bool
peer_check_run(struct peer_check *q, struct carrier *c, uint64_t heard_ns,
    uint64_t now_ns)
{
	char words[PEER_CHECK_TEXT_BYTES];

	if (heard_ns != q->heard_ns) {
		q->heard_ns = heard_ns;
		q->ask_ns = heard_ns + FIRST_NS;
		q->report_ns = heard_ns + REPORT_NS;
		q->answered = false;
	}
	if (is_wrong_peer(q, c))
		return false;
	if (now_ns >= q->report_ns) {
		q->report_ns = now_ns + REPORT_AGAIN_NS;
		warnx("%s: no model of cluster %u for %.1f s%s",
		    c->cf->to_name, c->cf->cluster, (double)(now_ns -
		    heard_ns) / 1e9, peer_check_explain(q, words));
	}
	if (now_ns >= q->ask_ns) {
		q->ask_ns = now_ns + AGAIN_NS;
		send_request(q, c);
	}
	return true;
}
