/* iswitch-jobs.c - find the job and the member of each packet */
#include "cmd/innet-aom/timing/iswitch-jobs.h"

#include <stdlib.h>

#include "cmd/innet-aom/timing/iterations.h"
#include "cmd/innet-aom/timing/rounds.h"
#include "common/base/message.h"
#include "common/wire/repair.h"
#include "common/wire/update.h"

enum { ALIKE_MAX = 8 };		/* maximum number of addresses with one hash */

bool
jobs_claim(const void *none, uint8_t tos, uint16_t sport, uint16_t dport)
{
	(void)none;
	(void)sport;
	(void)dport;
	return seg_is(tos) || tos == CONTROL_TOS;
}

/*
 * Return the endpoint with this address.  Create the endpoint if it is new.
 * Return NULL if there are too many endpoints.
 */
static struct jobs_end *
get_end(struct jobs *s, const union addr *at)
{
	uint64_t key = addr_key(at, &hashmap_constant);
	const uint32_t *have;
	uint32_t *place;
	int alike = 0;

	while ((have = hashmap_get(&s->end_at, key)) != NULL) {
		if (addr_same(&s->end[*have].at, at))
			return &s->end[*have];
		if (++alike == ALIKE_MAX)
			return NULL;
		key += (uint64_t)1 << 48;	/* try another key */
	}
	if (s->ends == JOBS_ENDS_MAX)
		return NULL;
	if (s->ends == s->ends_room) {
		s->ends_room = s->ends_room == 0 ? 16 : 2 * s->ends_room;
		s->end = realloc(s->end, s->ends_room * sizeof(*s->end));
		if (s->end == NULL)
			err(1, "no memory for %u addresses", s->ends_room);
	}
	place = hashmap_put(&s->end_at, key, s->ends);
	if (place == NULL)
		err(1, "no memory for %u addresses", s->ends);
	s->end[s->ends] = (struct jobs_end){ .at = *at };
	return &s->end[s->ends++];
}

/*
 * Return both endpoints of a packet.  A new endpoint can move the array, so the
 * first endpoint is looked up again.
 */
static bool
get_ends(struct jobs *s, const struct packet *p, struct jobs_end **from,
    struct jobs_end **to)
{
	if (get_end(s, &p->from) == NULL)
		return false;
	*to = get_end(s, &p->to);
	if (*to == NULL)
		return false;
	*from = get_end(s, &p->from);
	return true;
}

void
jobs_add_switch(struct jobs *s, const union addr *at)
{
	struct jobs_end *e = get_end(s, at);

	if (e != NULL)
		e->role = JOBS_SWITCH;
}

/* Return the job `number` of switch sw.  Create the job if it is new. */
static struct job **
get_job(struct jobs *s, const struct jobs_end *sw, int32_t number)
{
	const uint64_t key = (uint64_t)(sw - s->end) << 17 |
	    (uint64_t)(number + 1);
	uint32_t *at = hashmap_get(&s->job_at, key);
	struct job *j;

	if (at != NULL)
		return &s->job[*at];
	if (s->n == JOBS_MAX)
		return NULL;
	if (s->n == s->room) {
		s->room = s->room == 0 ? 8 : 2 * s->room;
		s->job = realloc(s->job, s->room * sizeof(*s->job));
	}
	j = calloc(1, sizeof(*j));
	at = hashmap_put(&s->job_at, key, s->n);
	if (s->job == NULL || j == NULL || at == NULL)
		err(1, "no memory for %u jobs", s->n);
	job_init(j, &s->context, &sw->at, number);
	j->place = s->n;
	if (s->async)
		j->mode = JOB_ASYNC;
	s->job[s->n] = j;
	return &s->job[s->n++];
}

/*
 * Return the job `number` of switch sw; -1 means that the number is unknown.
 * If the switch has a job without a number, that job gets this number, because
 * packets without a number belong to the first job that appears.
 */
static struct job **
name_job(struct jobs *s, const struct jobs_end *sw, int32_t number)
{
	const uint64_t nameless = (uint64_t)(sw - s->end) << 17;
	const uint64_t key = nameless | (uint64_t)(number + 1);
	const uint32_t *old = hashmap_get(&s->job_at, nameless);
	uint32_t i, *at;

	if (number < 0 || old == NULL || hashmap_get(&s->job_at, key) != NULL)
		return get_job(s, sw, number);
	i = *old;
	hashmap_remove(&s->job_at, nameless);
	at = hashmap_put(&s->job_at, key, i);
	if (at == NULL)
		err(1, "no memory for %u jobs", s->n);
	s->job[i]->number = number;
	return &s->job[i];
}

/*
 * Return the job of member m at switch sw.  `number` is the number of the job,
 * or -1 if the packet does not contain it.
 */
static struct job *
get_member(struct jobs *s, const struct jobs_end *sw, struct jobs_end *m,
    int32_t number)
{
	struct job **j;
	int32_t id;

	if (m->job != 0) {
		struct job *of = s->job[m->job - 1];

		if (addr_same(&of->at, &sw->at) && (number < 0 ||
		    of->number == number))
			return of;
	}
	j = name_job(s, sw, number);
	if (j == NULL)
		return NULL;
	if (m->job == (uint32_t)(j - s->job) + 1)
		return *j;		/* the number of the job is now known */
	id = job_add_member(*j, &m->at);
	if (id < 0)
		return NULL;
	m->job = (uint32_t)(j - s->job) + 1;
	m->member = (uint32_t)id;
	return *j;
}

/*
 * Record that a and b exchanged a segment.  An endpoint with several peers is a
 * switch.
 */
static void
learn_peers(const struct jobs *s, struct jobs_end *a, struct jobs_end *b)
{
	const uint32_t i = (uint32_t)(a - s->end) + 1,
	    k = (uint32_t)(b - s->end) + 1;

	if (a->role == JOBS_UNKNOWN && a->peer != 0 && a->peer != k)
		a->role = JOBS_SWITCH;
	if (b->role == JOBS_UNKNOWN && b->peer != 0 && b->peer != i)
		b->role = JOBS_SWITCH;
	a->peer = k;
	b->peer = i;
}

/*
 * Set *down if the segment from a to b is a result.  Return false if its
 * direction is unknown.
 */
static bool
find_direction(const struct jobs *s, struct jobs_end *a, struct jobs_end *b,
    bool *down)
{
	const bool ours = addr_port(&a->at) == UPDATE_PORT;

	if (a->role == JOBS_UNKNOWN && b->role == JOBS_UNKNOWN &&
	    ours != (addr_port(&b->at) == UPDATE_PORT))
		(ours ? a : b)->role = JOBS_SWITCH;
	if (a->role == JOBS_UNKNOWN || b->role == JOBS_UNKNOWN)
		learn_peers(s, a, b);
	*down = a->role == JOBS_SWITCH || b->role == JOBS_MEMBER;
	if (a->role == b->role)
		return false;
	if (a->role != JOBS_UNKNOWN && b->role != JOBS_UNKNOWN)
		return true;
	a->role = *down ? JOBS_SWITCH : JOBS_MEMBER;
	b->role = *down ? JOBS_MEMBER : JOBS_SWITCH;
	return true;
}

/* Add the segment in p, which member m of j sent or received. */
static void
add_segment(struct jobs *s, struct job *j, uint32_t m, const struct packet *p,
    bool down)
{
	const struct seg seg = seg_split(bytes_get(p->payload, 8));
	struct job_segment g = { .stamp_ns = p->stamp_ns, .file = p->file,
	    .down = down, .iteration = seg.iteration, .index = seg.index,
	    .vectors = seg.contributions };

	if (j->mode == JOB_ASYNC) {
		rounds_add_segment(j, &s->context, m, &g);
		return;
	}
	g.iteration = job_unwrap(j, seg.iteration);
	iterations_add_segment(j, &s->context, m, &g);
}

/*
 * Count a result to a group's address as a result for every member of the
 * group.
 */
static void
receive_group_result(struct jobs *s, const struct packet *p,
    struct jobs_end *from, const struct jobs_end *group)
{
	struct job *j = group->job == 0 ? NULL : s->job[group->job - 1];

	from->role = JOBS_SWITCH;
	if (j == NULL || !addr_same(&j->at, &from->at)) {
		s->unplaced++;
		return;
	}
	job_count(j, -1, JOB_BYTES_DOWN, p->wire_bytes);
	for (uint32_t m = 0; m < j->members; m++) {
		if (j->member[m].in_group)
			add_segment(s, j, m, p, true);
	}
}

static void
receive_segment(struct jobs *s, const struct packet *p, struct jobs_end *from,
    struct jobs_end *to)
{
	struct jobs_end *m;
	struct job *j;
	bool down;

	if (p->bytes < seg_head_bytes(p->tos) + 4 || p->bytes % 4 != 0 ||
	    p->have < SEG_HEADER_BYTES) {
		s->bad_segment++;
		return;
	}
	if (addr_is_group(&to->at)) {
		receive_group_result(s, p, from, to);
		return;
	}
	if (!find_direction(s, from, to, &down)) {
		s->unplaced++;
		return;
	}
	m = down ? to : from;
	j = get_member(s, down ? from : to, m, -1);
	if (j == NULL) {
		s->too_many++;
		return;
	}
	job_count(j, (int32_t)m->member, down ? JOB_BYTES_DOWN : JOB_BYTES_UP,
	    p->wire_bytes);
	add_segment(s, j, m->member, p, down);
}

/* Return the role of the sender of c, or JOBS_UNKNOWN if c does not show it. */
static enum jobs_role
sender_role(const struct control *c)
{
	struct repair_help h;

	switch (c->action) {
	case CONTROL_ACK: return JOBS_SWITCH;
	case CONTROL_JOIN: return JOBS_MEMBER;
	case CONTROL_HELP:
		if (repair_is_help(c) && repair_get_help(c, &h))
			return h.mark == 0 ? JOBS_SWITCH : JOBS_MEMBER;
		return JOBS_UNKNOWN;
	default: return JOBS_UNKNOWN;
	}
}

/*
 * Close the job's open iterations and rounds, because the job's mode changes or
 * the capture ends.
 */
static void
end_job(struct job *j, struct job_context *context)
{
	iterations_end(j, context);
	for (uint32_t m = 0; m < j->members; m++)
		rounds_end(j, context, m);
	rounds_close(j, context, INT64_MAX);
	j->has_rounds = false;
}

/* Set the mode of job j, and end iterations that are open in another mode. */
static void
set_mode(struct jobs *s, struct job *j, enum job_mode mode)
{
	if (j->mode != mode && (j->begun || j->has_rounds))
		end_job(j, &s->context);
	j->mode = mode;
}

/* Store those settings of the job that a Join contains. */
static void
receive_join(struct jobs *s, struct job *j, uint32_t m, const struct control *c)
{
	struct control_join join;

	if (!control_get_join(c, &join))
		return;
	set_mode(s, j, join.async ? JOB_ASYNC : JOB_SYNC);
	rounds_join(j, &s->context, m, join.next);
	j->member[m].worker = join.worker;
	if (join.floats > 0 && join.elements > 0)
		j->segs = seg_count(join.elements, join.floats);
}

/* Store whether the switch announced a multicast group to member m of j. */
static void
set_group(struct jobs *s, struct job *j, uint32_t m,
    const struct control_ack *a)
{
	const union addr at = addr_of_bytes(a->group, a->group_port);
	struct jobs_end *group = a->groups ? get_end(s, &at) : NULL;

	j->member[m].in_group = group != NULL;
	if (group != NULL)
		group->job = j->place + 1;
}

static void
receive_join_ack(struct jobs *s, struct job *j, uint32_t m,
    const struct control_ack *a)
{
	if (a->status != CONTROL_DONE)
		return;
	set_group(s, j, m, a);
	j->answers = a->whole && a->async;
	if (a->async)
		set_mode(s, j, JOB_ASYNC);
	if (a->h > 0)
		j->expected = a->h;
	if (a->floats > 0 && a->elements > 0)
		j->segs = seg_count(a->elements, a->floats);
}

/* Record that a Probe or NACK asks for a round, as in an asynchronous job. */
static void
note_asked_round(struct job *j, const struct control *c)
{
	struct repair_help h;

	if (j->mode == JOB_MODE_UNKNOWN && repair_get_help(c, &h) &&
	    (h.round != 0 || h.last_round != 0))
		j->asks_rounds = true;
}

/* Process Help, Probe or NACK, which contain the number of a segment. */
static void
receive_help(struct job *j, uint32_t m, const struct control *c, bool down,
    uint64_t stamp_ns)
{
	int64_t t;
	uint64_t word;

	if (repair_is_help(c))
		note_asked_round(j, c);
	if (!control_get_number(c, 8, &word))
		return;
	t = job_unwrap(j, seg_split(word).iteration);
	job_count_at(j, (int32_t)m, t, repair_is_help(c) ? down ? JOB_NACKS :
	    JOB_PROBES : down ? JOB_ASKED : JOB_HELPS);
	job_mark_loss(j, t, stamp_ns, down || !repair_is_help(c));
}

/* Process a control message between member m of j and its switch. */
static void
receive_message(struct jobs *s, struct job *j, uint32_t m,
    const struct control *c, bool down, uint64_t stamp_ns)
{
	const int32_t who = (int32_t)m;
	struct control_ack a;
	struct repair_state st;

	switch (c->action) {
	case CONTROL_JOIN: receive_join(s, j, m, c); break;
	case CONTROL_ACK:
		if (repair_is_state(c) && repair_get_state(c, &st))
			job_count_at(j, who, job_unwrap(j, st.iteration),
			    st.notice ? JOB_NOTICES : JOB_STATES);
		else if (control_get_ack(c, &a) && a.action == CONTROL_JOIN)
			receive_join_ack(s, j, m, &a);
		break;
	case CONTROL_HELP: receive_help(j, m, c, down, stamp_ns); break;
	case CONTROL_FETCH:
	case CONTROL_CHUNK: job_count(j, who, JOB_HANDOVERS, 1); break;
	default: break;
	}
}

/*
 * Process a control message.  Join, Ack, Help, Fetch and Chunk are counted if
 * they are sent between a member and its switch.  Other messages are not
 * counted, because their sender need not be a member.
 */
static void
receive_control(struct jobs *s, const struct packet *p, struct jobs_end *from,
    struct jobs_end *to)
{
	struct jobs_end *m;
	enum jobs_role role;
	struct control c;
	struct job *j;
	bool down;

	if (!control_parse(p->payload, p->have, &c) || p->have < p->bytes) {
		s->bad_control++;
		return;
	}
	role = sender_role(&c);
	if (role != JOBS_UNKNOWN)
		(role == JOBS_SWITCH ? from : to)->role = JOBS_SWITCH;
	if (role == JOBS_MEMBER)
		from->role = JOBS_MEMBER;
	if (repair_is_state(&c) || (c.action == CONTROL_ACK &&
	    c.body_bytes > 0 && c.body[0] == CONTROL_JOIN) ||
	    (role == JOBS_SWITCH && c.action == CONTROL_HELP))
		to->role = JOBS_MEMBER;
	if (c.action != CONTROL_JOIN && c.action != CONTROL_ACK &&
	    c.action != CONTROL_HELP && c.action != CONTROL_FETCH &&
	    c.action != CONTROL_CHUNK)
		return;
	down = from->role == JOBS_SWITCH && to->role == JOBS_MEMBER;
	if (!down && (to->role != JOBS_SWITCH || from->role != JOBS_MEMBER))
		return;
	m = down ? to : from;
	j = get_member(s, down ? from : to, m, c.job);
	if (j == NULL) {
		s->too_many++;
		return;
	}
	job_count(j, (int32_t)m->member, down ? JOB_BYTES_DOWN : JOB_BYTES_UP,
	    p->wire_bytes);
	receive_message(s, j, m->member, &c, down, p->stamp_ns);
}

void
jobs_receive(struct jobs *s, const struct packet *p)
{
	struct jobs_end *from, *to;

	if (!get_ends(s, p, &from, &to))
		s->too_many++;
	else if (seg_is(p->tos))
		receive_segment(s, p, from, to);
	else
		receive_control(s, p, from, to);
}

void
jobs_end(struct jobs *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		end_job(s->job[i], &s->context);
}

void
jobs_free(struct jobs *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		job_free(s->job[i]);
		free(s->job[i]);
	}
	free(s->job);
	free(s->end);
	hashmap_free(&s->end_at);
	hashmap_free(&s->job_at);
}
