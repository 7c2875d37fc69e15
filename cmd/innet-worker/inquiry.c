/* inquiry.c - what is at the other end, if no model comes from there */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/live/nonce.h"
#include "common/live/timer.h"
#include "common/wire/control.h"

#include "cmd/innet-worker/inquiry.h"

#define FIRST_NS 250000000u	/* without a model, until it asks */
#define AGAIN_NS 1000000000u	/* between that and the next */
#define TELL_NS 1000000000u	/* until a line */
#define TELL_AGAIN_NS 10000000000u	/* between that and the next */

bool
inquiry_take(struct inquiry *q, const struct udpio_packet *p)
{
	const cJSON *program, *models, *n;
	enum channel_news news;
	struct control_ack a;
	struct control c;
	cJSON *json;

	if ((p->tos & 0xfc) != CONTROL_TOS || !control_parse(p->data, p->len,
	    &c) || c.action != CONTROL_ACK || q->xid == 0 || c.xid !=
	    q->xid)
		return false;
	news = channel_take(&q->channel, p->data, p->len, &c);
	if (news == CHANNEL_CHALLENGED)
		q->ask_ns = 0;
	if (news != CHANNEL_GOOD || !control_get_ack(&c, &a))
		return news == CHANNEL_CHALLENGED;
	q->answered = true;
	json = a.text == NULL ? NULL : cJSON_ParseWithLength(
	    (const char *)a.text, a.text_bytes);
	program = cJSON_GetObjectItem(json, "program");
	n = cJSON_GetObjectItem(json, "counters");
	models = cJSON_GetObjectItem(n, "models");
	q->is_switch = cJSON_GetObjectItem(n, "no_route") != NULL;
	snprintf(q->program, sizeof(q->program), "%.15s",
	    cJSON_IsString(program) ? program->valuestring : "");
	q->has_models = cJSON_IsNumber(models) && models->valuedouble > 0;
	cJSON_Delete(json);
	return true;
}

const char *
inquiry_words(const struct inquiry *q, char words[INQUIRY_WORDS_BYTES])
{
	const char *what = "";

	if (q->xid != 0 && !q->answered)
		what = "; is a switch or server there?";
	else if (q->answered && q->is_switch && !q->has_models)
		what = "; it has had none, is the server behind its "
		    "--upstream there?";
	else if (q->answered && q->program[0] != '\0' && !q->has_models)
		what = "; the server has sent none, what does it say?";
	snprintf(words, INQUIRY_WORDS_BYTES, "%s", what);
	return words;
}

/* Ask for the counters. */
static void
ask(struct inquiry *q, struct carrier *c)
{
	uint8_t msg[CONTROL_HEADER_BYTES + 3 + CHANNEL_MORE_BYTES], *p;

	if (q->xid == 0)
		nonce_channel(&q->channel, c->cf->key->set ? c->cf->key :
		    NULL, &c->cf->to);
	q->xid = q->xid == 0 ? control_first_xid(timer_wall_ns()) : q->xid + 1;
	q->answered = false;
	p = control_put(msg, CONTROL_STATS, 0, q->xid);
	p = bytes_put(p, 0, 2);		/* the first page */
	*p++ = CONTROL_SCOPE_SWITCH;
	outlet_send(&c->out, &c->cf->to, CONTROL_TOS, msg,
	    channel_put(&q->channel, msg, (size_t)(p - msg)), timer_wall_ns());
}

bool
inquiry_act(struct inquiry *q, struct carrier *c, uint64_t heard_ns,
    uint64_t now_ns)
{
	char words[INQUIRY_WORDS_BYTES];

	if (heard_ns != q->heard_ns) {
		q->heard_ns = heard_ns;
		q->ask_ns = heard_ns + FIRST_NS;
		q->tell_ns = heard_ns + TELL_NS;
		q->answered = false;
	}
	if (q->answered && q->program[0] != '\0' &&
	    strcmp(q->program, "olaf") != 0) {
		warnx("%s: refused: it runs program %s, and this is olaf: "
		    "give both the same --program", c->cf->to_name,
		    q->program);
		return false;
	}
	if (now_ns >= q->tell_ns) {
		q->tell_ns = now_ns + TELL_AGAIN_NS;
		warnx("%s: no model of cluster %u for %.1f s%s",
		    c->cf->to_name, c->cf->cluster, (double)(now_ns -
		    heard_ns) / 1e9, inquiry_words(q, words));
	}
	if (now_ns >= q->ask_ns) {
		q->ask_ns = now_ns + AGAIN_NS;
		ask(q, c);
	}
	return true;
}
