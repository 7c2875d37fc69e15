/*
 * Test the epochs of the authentication tags of pushes near the wrap of their
 * number: the switch and each member count the epochs themselves, and a process
 * that was restarted starts from the epoch of its Ack.
 */
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 4 };

static struct key key;

/* A process of member 0: its cookie, its last Ack and its tags. */
struct process {
	uint8_t cookie[TAG_COOKIE_BYTES];
	struct control_ack ack;
	struct segment_tag tag;
};

static struct process
start_process(uint8_t nonce)
{
	struct process p = { 0 };

	memset(p.cookie, nonce, sizeof(p.cookie));
	return p;
}

/* Join job 1; `fresh` says that the process was no member before. */
static bool
join_job(struct process *p, uint32_t next, bool fresh)
{
	const struct control_join j = { .type = CONTROL_WORKER, .async = true,
	    .elements = ELEMENTS, .next = next, .repairs = true };
	const union addr from = rig_addr(1000);
	uint8_t m[CONTROL_MAX_BYTES];
	struct control c;

	control_parse(m, (size_t)(control_put_join(control_put(m, CONTROL_JOIN,
	    1, rig_xid++), &j) - m), &c);
	c.cookie = p->cookie;
	p->ack = (struct control_ack){ 0 };
	iswitch_handle_request(&rig, &from, &c, &p->ack, rig_now);
	memcpy(p->tag.cookie, p->cookie, TAG_COOKIE_BYTES);
	segment_tag_set_key(&p->tag, &key, 1, p->ack.salt, p->ack.epoch,
	    p->ack.next, fresh, true);
	return p->ack.status == CONTROL_DONE && p->ack.tagged;
}

/* Send push k; return whether the switch accepts its tag. */
static bool
push(struct process *p, uint32_t k)
{
	const union addr from = rig_addr(1000);
	uint8_t m[SEG_HEADER_BYTES + SEG_TAG_BYTES + 4 * ELEMENTS] = { 0 };
	const uint64_t bad = rig_count(JOB_BAD_TAG);

	seg_put(m, k & (SEG_ITERATIONS - 1), 1, 0);
	segment_tag_put(&p->tag, m, m + SEG_HEADER_BYTES + SEG_TAG_BYTES,
	    sizeof(m) - SEG_HEADER_BYTES - SEG_TAG_BYTES);
	iswitch_receive_segment(&rig, &from, SEG_TAGGED_TOS, m, sizeof(m),
	    rig_now);
	rig_flush();
	return rig_count(JOB_BAD_TAG) == bad;
}

/* Send a Probe about push k that has seen everything. */
static void
probe(uint32_t k)
{
	struct job *j = &rig.job[0]->core;
	const struct repair_help h = { .iteration = k, .seen = j->serial,
	    .last = REPAIR_NONE, .upto = 1, .round = 0 };
	const union addr from = rig_addr(1000);
	uint8_t m[CONTROL_MAX_BYTES];
	struct control c;
	struct control_ack a = { 0 };

	control_parse(m, repair_write_help(m, 1, rig_xid++, &h), &c);
	iswitch_handle_request(&rig, &from, &c, &a, rig_now);
	rig_flush();
}

/* Open a job in which every push completes a round. */
static void
open_job(void)
{
	struct job_conf cf = rig_conf(1);

	cf.async = cf.tagged = true;
	cf.keep_bytes = 10000;
	rig_open(&cf, 0);
	rig.cf.job.key = &key;
}

/*
 * A trace of --severe --kill-racks --auth all: a rack was restarted.  The
 * rounds had wrapped around in the meantime, and its first push had not.
 */
static void
test_restart(void)
{
	struct process a = start_process(1), b = start_process(2);
	bool good;

	open_job();
	good = join_job(&a, SEG_ITERATIONS - 3, true) && a.ack.epoch == 0;
	for (uint32_t k = 0; k < 4; k++)
		good = push(&a, SEG_ITERATIONS - 5 + k) && good;
	ok(good, "pushes have good tags while the rounds wrap around");
	ok(join_job(&b, 0, true) && b.ack.epoch == 1 &&
	    push(&b, SEG_ITERATIONS - 1) && push(&b, SEG_ITERATIONS),
	    "pushes of a restarted process have the epoch of its Ack");
	ok(!push(&a, SEG_ITERATIONS - 1),
	    "late pushes of its former process are refused");
	rigged_close(&rig_plane);
}

/* The same process counts its pushes from 0 again, as after a fetch. */
static void
test_restarted_pushes(void)
{
	struct process a = start_process(1);
	bool good;

	open_job();
	good = join_job(&a, 7, true);
	for (uint32_t k = 0; k < 6; k++)
		good = push(&a, SEG_ITERATIONS - 2 + k) && good;
	good = join_job(&a, 9, true) && a.ack.epoch == 0 && good;
	good = !push(&a, 0) && good;	/* the switch expects the next epoch */
	probe(0);			/* makes a mark */
	probe(0);
	ok(good && push(&a, 0),
	    "a Probe tells the switch that the pushes begin again, in the "
	    "epoch of the Ack");
	rigged_close(&rig_plane);
}

/* The rounds wrap around before the first push, and then an Ack is sent. */
static void
test_two_acks(void)
{
	struct process a = start_process(1);

	open_job();
	join_job(&a, SEG_ITERATIONS - 1, true);
	rig.job[0]->core.newest += 2;
	ok(join_job(&a, SEG_ITERATIONS - 1, false) && a.ack.epoch == 1 &&
	    a.tag.epoch == 0 && push(&a, 3) && push(&a, 4),
	    "the first push may have the epoch of an earlier Ack");
	rigged_close(&rig_plane);
}

/*
 * Seed 8020149781: the switch already has the push with the number of the first
 * push, from a process that was killed.  So the first push is not sent again
 * when it is lost, and the next one wraps around.
 */
static void
test_lost_push(void)
{
	struct process a = start_process(1);
	uint8_t lost[SEG_HEADER_BYTES + SEG_TAG_BYTES + 4 * ELEMENTS] = { 0 };

	open_job();
	join_job(&a, SEG_ITERATIONS - 1, true);
	seg_put(lost, SEG_ITERATIONS - 1, 1, 0);
	segment_tag_put(&a.tag, lost, lost + SEG_HEADER_BYTES + SEG_TAG_BYTES,
	    4 * ELEMENTS);
	ok(push(&a, SEG_ITERATIONS) && push(&a, SEG_ITERATIONS + 1),
	    "the first push that arrives may be in the epoch after that of the "
	    "Ack");
	rigged_close(&rig_plane);
}

/*
 * Seed 9520797139: the members of a rack left, and others began its job again,
 * at another round.  The first push of the rack must not follow its last push,
 * so the parent must see another process.
 */
static void
test_rack_begins_again(void)
{
	struct process a = start_process(1);
	struct job_conf cf = rig_conf(1);
	uint8_t nonce[COOKIE_NONCE_BYTES];
	const struct channel_client *up;

	cf.async = cf.tagged = cf.child = true;
	rig_open(&cf, 0);
	rig.cf.job.key = &key;
	join_job(&a, SEG_ITERATIONS - 1, true);
	up = &rig.job[0]->channel;
	memcpy(nonce, up->cookie, sizeof(nonce));
	join_job(&a, SEG_ITERATIONS - 1, false);
	ok(memcmp(nonce, up->cookie, sizeof(nonce)) == 0,
	    "a rack keeps its nonce while it is a member");
	rig_now += 20000000000;
	iswitch_run_deadlines(&rig, rig_now);
	join_job(&a, 41, true);
	ok(memcmp(nonce, rig.job[0]->channel.cookie, sizeof(nonce)) != 0,
	    "a rack that joins again has another nonce");
	rigged_close(&rig_plane);
}

int
main(void)
{
	key_set(&key, "secret", 6);
	test_restart();
	test_restarted_pushes();
	test_two_acks();
	test_lost_push();
	test_rack_begins_again();
	return tap_end();
}
