/*
 * bpf-classifier.h - the programs that take marked frames out of a bridge
 *
 * All of these kernel programs use the same code, the match, to select frames.
 * The program of a packet socket selects the frames that the socket receives.
 * The program at the ingress hook of the port then drops these frames, or
 * redirects them.  An XDP program passes the selected frames to a socket.  All
 * other frames are not affected.
 *
 * The match selects UDP datagrams to a single host, over IPv4 without options
 * or IPv6 without extension headers, but no fragments.  It selects datagrams to
 * the UDP port of the switch itself and, on request, updates between other
 * hosts (innet-wire(5)).
 *
 * If the process fails, all frames pass.  The hook is a link that the kernel
 * removes when the process ends.  A process that hangs stops calling
 * bpf_classifier_beat().  When BPF_CLASSIFIER_OPEN_NS have passed since the
 * last call, the programs let every frame pass.
 */
#ifndef INNET_SWITCH_INPATH_BPF_CLASSIFIER_H
#define INNET_SWITCH_INPATH_BPF_CLASSIFIER_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/innet-switch/inpath/ebpf.h"
#include "common/net/timer.h"
#include "common/wire/control.h"
#include "common/wire/seg.h"
#include "common/wire/update.h"

enum {
	BPF_CLASSIFIER_OPEN_NS = 100000000, /* frames pass after this time
					     * without a heartbeat */
	BPF_CLASSIFIER_BEAT_NS = 20000000,  /* longest time between two
					     * heartbeats */
	BPF_CLASSIFIER_DROP = 2,
	BPF_CLASSIFIER_NEXT = -1,      /* verdict of a hook program: pass */
	BPF_CLASSIFIER_PASS = 2,       /* verdict of an XDP program: pass */
	BPF_CLASSIFIER_QUEUE_AT = 16,  /* offset of rx_queue_index in the XDP
				        * context */
	BPF_CLASSIFIER_WHOLE = 1 << 20 /* number of bytes that a socket keeps:
				        * the whole frame */
};

/* The rules by which a program selects frames. */
struct bpf_classifier_rules {
	bool all;	/* select every frame; ignore the other fields */
	bool passing;		/* also select updates between other hosts */
	bool tagged;		/* updates between other hosts have tags; also
				 * select handshakes */
	bool marked;	/* packets to the switch must have innet's ToS */
};

/* The verdict on a frame: register 0 at the end of a program. */
struct bpf_classifier_action {
	int32_t take, pass;
	uint32_t redirect;	/* redirect selected frames to this interface;
				 * 0: do not redirect */
	bool xdp; /* pass each selected frame to the socket of its queue */
	int sockets;		/* descriptor of the map of these sockets */
};

/* Memory that the process shares with the programs. */
struct bpf_classifier_shared {
	uint64_t beat_ns;	/* time of the last heartbeat,
				 * CLOCK_MONOTONIC */
	uint8_t mac[6];		/* Ethernet address of the switch itself */
	uint16_t port;	/* the switch's UDP port, network order; 0: none */
};

struct bpf_classifier {
	struct bpf_classifier_shared *shared;	/* mapped */
	int map, of_socket, of_hook;	/* descriptors */
	struct bpf_classifier_rules rules;
};

/* The stack offsets and the registers that the match uses. */
enum {
	BPF_CLASSIFIER_FRAME = -64,
	BPF_CLASSIFIER_UDP = -16,
	BPF_CLASSIFIER_TOS = 8,
	BPF_CLASSIFIER_PORT = 9,
	BPF_CLASSIFIER_CONTEXT = 6,
	BPF_CLASSIFIER_SHARED = 7,
	BPF_CLASSIFIER_HEAD_BYTES = 38
};

/*
 * Load the programs.  They select nothing before the first heartbeat.  Returns
 * 0, or -1 with errno set.  After a failure, no program is loaded.
 */
static inline int bpf_classifier_open(struct bpf_classifier *s,
    const struct bpf_classifier_rules *rules);

/* Unload the programs. */
static inline void bpf_classifier_close(struct bpf_classifier *s);

/*
 * Tell the programs that the process is alive.  Call this at least every
 * BPF_CLASSIFIER_BEAT_NS.
 */
static inline void bpf_classifier_beat(struct bpf_classifier *s);

/* Let every frame pass from now on. */
static inline void bpf_classifier_release_all(struct bpf_classifier *s);

/* Set the Ethernet address and UDP port of the switch itself. */
static inline void bpf_classifier_set_own(struct bpf_classifier *s,
    const uint8_t mac[6], uint16_t port);

/*
 * Load a program for a hook that redirects selected frames to another
 * interface.
 */
static inline int bpf_classifier_make_redirect(const struct bpf_classifier *s,
    uint32_t interface);

/* Load an XDP program that passes selected frames to the sockets of a map. */
static inline int bpf_classifier_make_xdp(const struct bpf_classifier *s,
    int sockets);

/*
 * Write the ToS bytes that select frames between other hosts to `tos`.  If
 * `tagged` is true, updates have tags.  Returns the number of bytes.
 */
static inline int bpf_classifier_passing_tos(bool tagged, uint8_t tos[2]);

/*
 * Emit code that exits if the last heartbeat is more than
 * BPF_CLASSIFIER_OPEN_NS ago.
 */
static inline void bpf_classifier_require_beat(struct ebpf_code *c);

/* implementation */

/* Emit code that copies bytes of the frame to the stack, or exits. */
static inline void
bpf_classifier_load_bytes(struct ebpf_code *c,
    const struct bpf_classifier_action *way, int at, int to, int bytes)
{
	ebpf_move(c, 1, BPF_CLASSIFIER_CONTEXT);
	ebpf_set(c, 2, at);
	ebpf_move(c, 3, 10);
	ebpf_compute(c, EBPF_ADD, 3, to);
	ebpf_set(c, 4, bytes);
	ebpf_call(c, way->xdp ? EBPF_LOAD_BYTES_XDP : EBPF_LOAD_BYTES);
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JNE, 0, 0));
}

/* Emit code that exits unless the byte at an offset has this value. */
static inline void
bpf_classifier_require_byte(struct ebpf_code *c, int at, int value)
{
	ebpf_load(c, EBPF_B, 1, 10, BPF_CLASSIFIER_FRAME + at);
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JNE, 1, value));
}

/* Emit code that loads the ToS and port of an IPv4 datagram, or exits. */
static inline void
bpf_classifier_match_v4(struct ebpf_code *c)
{
	bpf_classifier_require_byte(c, 14, 0x45);
	bpf_classifier_require_byte(c, 23, IPPROTO_UDP);
	ebpf_load(
	    c, EBPF_H, 1, 10, BPF_CLASSIFIER_FRAME + 20); /* a fragment? */
	ebpf_compute(c, EBPF_AND, 1, htons(0x3fff));
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JNE, 1, 0));
	ebpf_load(c, EBPF_B, BPF_CLASSIFIER_TOS, 10, BPF_CLASSIFIER_FRAME + 15);
	ebpf_load(
	    c, EBPF_H, BPF_CLASSIFIER_PORT, 10, BPF_CLASSIFIER_FRAME + 36);
}

/* Emit code that loads the ToS and port of an IPv6 datagram, or exits. */
static inline void
bpf_classifier_match_v6(
    struct ebpf_code *c, const struct bpf_classifier_action *way)
{
	bpf_classifier_require_byte(c, 20, IPPROTO_UDP);
	bpf_classifier_load_bytes(c, way, 56, BPF_CLASSIFIER_UDP, 2);
	ebpf_load(c, EBPF_H, BPF_CLASSIFIER_PORT, 10, BPF_CLASSIFIER_UDP);
	ebpf_load(c, EBPF_B, BPF_CLASSIFIER_TOS, 10, BPF_CLASSIFIER_FRAME + 14);
	ebpf_compute(c, EBPF_LSH, BPF_CLASSIFIER_TOS, 4);
	ebpf_load(c, EBPF_B, 1, 10, BPF_CLASSIFIER_FRAME + 15);
	ebpf_compute(c, EBPF_RSH, 1, 4);
	ebpf_emit(
	    c, EBPF_ALU64 | EBPF_OR | EBPF_X, BPF_CLASSIFIER_TOS, 1, 0, 0);
}

/*
 * Emit code that checks whether the destination of the frame is the switch's
 * own Ethernet address.  If it is another address, the code jumps.  Stores the
 * indexes of the two jumps in `other`.
 */
static inline void
bpf_classifier_match_own_mac(struct ebpf_code *c, int other[2])
{
	ebpf_load(c, EBPF_W, 1, 10, BPF_CLASSIFIER_FRAME);
	ebpf_load(c, EBPF_W, 2, BPF_CLASSIFIER_SHARED, 8);
	other[0] = ebpf_jump_if_register(c, EBPF_JNE, 1, 2);
	ebpf_load(c, EBPF_H, 1, 10, BPF_CLASSIFIER_FRAME + 4);
	ebpf_load(c, EBPF_H, 2, BPF_CLASSIFIER_SHARED, 12);
	other[1] = ebpf_jump_if_register(c, EBPF_JNE, 1, 2);
}

static inline void
bpf_classifier_require_beat(struct ebpf_code *c)
{
	ebpf_call(c, EBPF_CLOCK);
	ebpf_load(c, EBPF_DW, 1, BPF_CLASSIFIER_SHARED, 0);
	ebpf_emit(c, EBPF_ALU64 | EBPF_SUB | EBPF_X, 0, 1, 0, 0);
	ebpf_jump_to_exit(
	    c, ebpf_jump_if(c, EBPF_JSGT, 0, BPF_CLASSIFIER_OPEN_NS));
}

/*
 * Emit the end of the program: selected frames get the action, and all others
 * pass.
 */
static inline void
bpf_classifier_finish(
    struct ebpf_code *c, const struct bpf_classifier_action *way)
{
	if (way->xdp) {
		ebpf_load_map(c, 1, way->sockets, EBPF_MAP_ITSELF);
		ebpf_load(c, EBPF_W, 2, BPF_CLASSIFIER_CONTEXT,
		    BPF_CLASSIFIER_QUEUE_AT);
		ebpf_set(c, 3, way->pass);	/* the result if there is no
						 * socket */
		ebpf_call(c, EBPF_REDIRECT_MAP);
	} else if (way->redirect != 0) {
		ebpf_set(c, 1, (int32_t)way->redirect);
		ebpf_set(c, 2, 0);
		ebpf_call(c, EBPF_REDIRECT);
	} else {
		ebpf_set(c, 0, way->take);
	}
	ebpf_finish(c, way->pass);
}

static inline int
bpf_classifier_passing_tos(bool tagged, uint8_t tos[2])
{
	tos[0] = tagged ? UPDATE_TAGGED_TOS : UPDATE_TOS;
	tos[1] = CONTROL_TOS;		/* handshakes */
	return tagged ? 2 : 1;
}

/*
 * Emit a jump for each kind of frame between other hosts that is selected, and
 * store its index in `good`.  Returns the number of jumps.
 */
static inline int
bpf_classifier_match_passing(
    struct ebpf_code *c, const struct bpf_classifier_rules *rules, int good[2])
{
	uint8_t tos[2];
	const int n =
	    rules->passing ? bpf_classifier_passing_tos(rules->tagged, tos) : 0;

	for (int i = 0; i < n; i++)
		good[i] = ebpf_jump_if(c, EBPF_JEQ, BPF_CLASSIFIER_TOS, tos[i]);
	ebpf_jump_to_exit(c, ebpf_emit(c, EBPF_JMP | EBPF_JA, 0, 0, 0, 0));
	return n;
}

/*
 * Write the code that matches frames according to the rules.  The code ends
 * with the action for matching frames.
 */
static inline void
bpf_classifier_match(struct ebpf_code *c, int map,
    const struct bpf_classifier_rules *rules,
    const struct bpf_classifier_action *way)
{
	const bool marked = rules->marked;
	int v4, common, other[2], good[4] = { 0 }, between[2] = { 0 }, n;

	*c = (struct ebpf_code){ .n = 0 };
	ebpf_move(c, BPF_CLASSIFIER_CONTEXT, 1);
	bpf_classifier_load_bytes(
	    c, way, 0, BPF_CLASSIFIER_FRAME, BPF_CLASSIFIER_HEAD_BYTES);
	/* is the destination a multicast group? */
	ebpf_load(c, EBPF_B, 1, 10, BPF_CLASSIFIER_FRAME);
	ebpf_compute(c, EBPF_AND, 1, 1);
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JNE, 1, 0));
	ebpf_load_map_value(c, BPF_CLASSIFIER_SHARED, map);
	ebpf_load(c, EBPF_H, 1, 10, BPF_CLASSIFIER_FRAME + 12);
	v4 = ebpf_jump_if(c, EBPF_JEQ, 1, htons(0x0800));
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JNE, 1, htons(0x86dd)));
	bpf_classifier_match_v6(c, way);
	common = ebpf_emit(c, EBPF_JMP | EBPF_JA, 0, 0, 0, 0);
	ebpf_set_target(c, v4);
	bpf_classifier_match_v4(c);
	ebpf_set_target(c, common);
	ebpf_compute(c, EBPF_AND, BPF_CLASSIFIER_TOS, 0xfc);
	bpf_classifier_match_own_mac(c, other);
	ebpf_load(c, EBPF_H, 1, BPF_CLASSIFIER_SHARED, 14);
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JEQ, 1, 0));
	ebpf_jump_to_exit(
	    c, ebpf_jump_if_register(c, EBPF_JNE, BPF_CLASSIFIER_PORT, 1));
	good[0] =
	    marked ? ebpf_jump_if(c, EBPF_JEQ, BPF_CLASSIFIER_TOS, CONTROL_TOS)
		   : ebpf_emit(c, EBPF_JMP | EBPF_JA, 0, 0, 0, 0);
	if (marked) {
		good[1] =
		    ebpf_jump_if(c, EBPF_JEQ, BPF_CLASSIFIER_TOS, SEG_TOS);
		good[2] =
		    ebpf_jump_if(c, EBPF_JEQ, BPF_CLASSIFIER_TOS, UPDATE_TOS);
		good[3] = ebpf_jump_if(
		    c, EBPF_JEQ, BPF_CLASSIFIER_TOS, SEG_TAGGED_TOS);
		ebpf_jump_to_exit(
		    c, ebpf_emit(c, EBPF_JMP | EBPF_JA, 0, 0, 0, 0));
	}
	ebpf_set_target(c, other[0]);
	ebpf_set_target(c, other[1]);
	n = bpf_classifier_match_passing(c, rules, between);
	for (int i = 0; i < (marked ? 4 : 1); i++)
		ebpf_set_target(c, good[i]);
	for (int i = 0; i < n; i++)
		ebpf_set_target(c, between[i]);
	bpf_classifier_require_beat(c);
	bpf_classifier_finish(c, way);
}

/* Write the code that selects every frame. */
static inline void
bpf_classifier_match_all(
    struct ebpf_code *c, int map, const struct bpf_classifier_action *way)
{
	*c = (struct ebpf_code){ .n = 0 };
	ebpf_move(c, BPF_CLASSIFIER_CONTEXT, 1);
	ebpf_load_map_value(c, BPF_CLASSIFIER_SHARED, map);
	bpf_classifier_require_beat(c);
	bpf_classifier_finish(c, way);
}

/* Write the program for the rules. */
static inline void
bpf_classifier_write_program(struct ebpf_code *c, int map,
    const struct bpf_classifier_rules *rules,
    const struct bpf_classifier_action *way)
{
	if (rules->all)
		bpf_classifier_match_all(c, map, way);
	else
		bpf_classifier_match(c, map, rules, way);
}

static inline int
bpf_classifier_make_redirect(const struct bpf_classifier *s, uint32_t interface)
{
	const struct bpf_classifier_action way = { .pass = BPF_CLASSIFIER_NEXT,
	    .redirect = interface };
	struct ebpf_code c;

	bpf_classifier_write_program(&c, s->map, &s->rules, &way);
	return ebpf_load_program(&c, EBPF_OF_HOOK, NULL, 0);
}

static inline int
bpf_classifier_make_xdp(const struct bpf_classifier *s, int sockets)
{
	const struct bpf_classifier_action way = {
	    .pass = BPF_CLASSIFIER_PASS, .xdp = true, .sockets = sockets};
	struct ebpf_code c;

	bpf_classifier_write_program(&c, s->map, &s->rules, &way);
	return ebpf_load_program(&c, EBPF_OF_XDP, NULL, 0);
}

static inline void
bpf_classifier_beat(struct bpf_classifier *s)
{
	__atomic_store_n(&s->shared->beat_ns, timer_mono_ns(),
	    __ATOMIC_RELAXED);
}

static inline void
bpf_classifier_release_all(struct bpf_classifier *s)
{
	__atomic_store_n(&s->shared->beat_ns, 0, __ATOMIC_RELAXED);
}

static inline void
bpf_classifier_set_own(
    struct bpf_classifier *s, const uint8_t mac[6], uint16_t port)
{
	memcpy(s->shared->mac, mac, 6);
	s->shared->port = htons(port);
}

static inline void
bpf_classifier_close(struct bpf_classifier *s)
{
	if (s->shared != NULL)
		munmap(s->shared, sizeof(*s->shared));
	if (s->map >= 0)
		close(s->map);
	if (s->of_socket >= 0)
		close(s->of_socket);
	if (s->of_hook >= 0)
		close(s->of_hook);
	*s = (struct bpf_classifier){ .map = -1, .of_socket = -1,
	    .of_hook = -1 };
}

static inline int
bpf_classifier_open(
    struct bpf_classifier *s, const struct bpf_classifier_rules *rules)
{
	static const struct bpf_classifier_action
	    of_socket = { .take = BPF_CLASSIFIER_WHOLE },
	    of_hook = {
		.take = BPF_CLASSIFIER_DROP, .pass = BPF_CLASSIFIER_NEXT};
	struct ebpf_code c;
	void *p = MAP_FAILED;
	int saved;

	*s = (struct bpf_classifier){
	    .of_socket = -1, .of_hook = -1, .rules = *rules};
	s->map = ebpf_create_shared_map(sizeof(*s->shared));
	if (s->map != -1)
		p = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE,
		    MAP_SHARED, s->map, 0);
	if (p != MAP_FAILED) {
		s->shared = p;
		bpf_classifier_write_program(&c, s->map, rules, &of_socket);
		s->of_socket = ebpf_load_program(&c, EBPF_OF_SOCKET, NULL, 0);
		bpf_classifier_write_program(&c, s->map, rules, &of_hook);
		s->of_hook = ebpf_load_program(&c, EBPF_OF_HOOK, NULL, 0);
	}
	if (s->of_socket != -1 && s->of_hook != -1)
		return 0;
	saved = errno;
	bpf_classifier_close(s);
	errno = saved;
	return -1;
}

#endif
