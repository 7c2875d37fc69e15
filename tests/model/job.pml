/*
 * job.pml - a synchronous job of two workers, for the model checker Spin
 *
 * Workers 0 and 1 sum vectors of two segments, `end` iterations of them.  With
 * RACK=1, worker 1 is behind a rack; with RACK=2, both workers are.  README.md
 * says what is left out.
 *
 * Packets carry the true iteration, which only assertions look at: each side
 * sees WIRE() of it, a number modulo MOD that begins with `first` and wraps.
 * Time is left out too: timers run when no packet is under way but late ones.
 */
#define MOD	16	/* SEG_ITERATIONS */
#define NEAR	2	/* SEG_NEAR */

#define WIRE(t)	((first + (t)) % MOD)
#define DIFF(a, b) (((a) + 8 * MOD - (b)) % MOD)
#define BEFORE(a, b) (DIFF(a, b) >= MOD / 2)
#define UNWRAP(wire, near) (DIFF(wire, near) < MOD / 2 -> \
	    (near) + DIFF(wire, near) : (near) + DIFF(wire, near) - MOD)

#ifndef RACK
#define RACK	0	/* workers behind a rack: 0, 1 (worker 1) or 2 */
#endif

/* Faults that may happen, set by the environment; `run` explains each name. */
hidden byte end, first, lives;
byte kills, leaves, restarts, rack_restarts, signs;
byte rounds = 1;	/* Probes in the second after the end of a process */
bool moved;		/* a worker has applied a result */
hidden byte p2, k2, a2, b2, c2;

c_decl {
	static unsigned char
	from_environment(const char *name, int otherwise)
	{
		const char *text = getenv(name);

		return (unsigned char)(text != NULL ? atoi(text) : otherwise);
	}
};
inline read_settings()
{
	c_code {
		end = from_environment("END", 3);
		first = from_environment("FIRST", 15);
		span = from_environment("SPAN", 2);
		now.lates = from_environment("LATES", 0);
		now.dups = from_environment("DUPS", 0);
		now.kills = from_environment("KILLS", 0);
		now.leaves = from_environment("LEAVES", 0);
		now.restarts = from_environment("RESTARTS", 0);
		now.rack_restarts = from_environment("RACK_RESTARTS", 0);
		now.signs = from_environment("SIGNS", 0);
		lives = now.kills + now.leaves;
	}
}

#include "network.pml"
#ifdef CHALLENGES
#define CHALLENGED(how)	((how) >> 1 != J.cookie)
#else
#define CHALLENGED(how)	false
#endif
#define SAY(what, p, k, a, b, c) \
	printf("@ %d %d %d %d %d %d\n", what, k, p, a, b, c)
#if RACK
#define IF_RACK(steps)	steps;
#define WENT_BACK(p)	((p) == 3 && n < M(w).next)
#else
#define IF_RACK(steps)
#define WENT_BACK(p)	false
#endif
#include "switch.pml"
#include "worker.pml"
#if RACK
#include "rack.pml"
#endif

#define MINE	(p == wk[W(p)].port)	/* not the port of a process that has
					 * ended */

/*
 * Packet k of port p arrives at its switch, at a worker or at the rack.  Spin
 * limits the length of a d_step, so there are several parts.
 */
#define IS_REQUEST(k)	((k) == JOIN || (k) == LEAVE)
#define IS_DOWN(k)	((k) >= ACK)
inline arrive_at_switch(p, k, a, b, c)
{
	s = AT(p);
	SAY(0, p, k, a, b, c);
	if
	:: k == PUSH -> receive_push(p, a, b, c)
	:: k == PROBE -> receive_probe(p, a, b, c)
	:: k == FETCH -> receive_fetch(p)
	:: k == GIVE -> receive_give(p, a, b)
	:: else
	fi
}

inline arrive_at_worker(p, k, a, b, c)
{
	u = W(p);
	SAY(0, p, k, a, b, c);
	if
	:: k == ACK && MINE -> receive_ack(u, a, b, c)
	:: k == RESULT && MINE -> receive_result(u, a, b, c)
	:: k == STATE && MINE -> receive_state(u, a, b, c)
	:: k == NONE && MINE -> receive_none(u)
	:: k == GONE && MINE -> receive_gone(u, a, b)
	:: k == HELP && MINE -> receive_help(u, a, b)
	:: k == CHUNK && MINE -> receive_chunk(u, a)
	:: k == CHALLENGE && MINE -> receive_challenge(u, a)
	:: k == ASK && MINE && wk[u].joined ->
		send_up(p, GIVE, wk[u].at, a, 0)
	:: else
	fi
}

/* All members have received nothing for too long. */
inline run_all_timers()
{
	run_timers(0); run_timers(1);
	IF_RACK(run_rack_timers())
}

/* No packet that a process has sent arrives a second after its end. */
inline pass_second()
{
	mem[0].young = false; mem[1].young = false;
	mem[0].doubted = false; mem[1].doubted = false;
	IF_RACK(pass_second_at_rack())
	do
	:: wk[1].port == 2 && late ?? [1, _, _, _, _] ->
		late ?? 1, _, _, _, _
	:: else -> break
	od
}

#define TAKE(q, ch) \
	:: nempty(ch) -> p = q; ch ? k, a, b, c
#define OVER	(wk[0].at >= end && wk[1].at >= end)

init {
	byte p, k, a, b, c;
	bool was_late;

	d_step { read_settings(); begin_life(0, 0); begin_life(1, 1);
		IF_RACK(wk[2].port = 3) skip }
	do
	:: (BUSY || nempty(late)) && !OVER -> atomic {
		if
		TAKE(0, up[0])
		TAKE(0, down[0])
		TAKE(1, up[1])
		TAKE(1, down[1])
		TAKE(2, up[2])
		TAKE(2, down[2])
#if RACK
		TAKE(3, up[3])
		TAKE(3, down[3])
#endif
		:: nempty(late) -> late ? p, k, a, b, c; was_late = true
		:: len(late) > 1 -> d_step { late ? p2, k2, a2, b2, c2;
			late ? p, k, a, b, c; late !! p2, k2, a2, b2, c2;
			was_late = true }
		fi;
		if
		:: true
		:: lates > 0 && !was_late -> d_step { lates--;
			SAY(1, p, k, a, b, c); late !! p, k, a, b, c; k = 0 }
		:: dups > 0 && !was_late -> d_step { dups--;
			SAY(2, p, k, a, b, c); late !! p, k, a, b, c }
		fi;
		if
		:: IS_REQUEST(k) -> d_step { s = AT(p);
			SAY(0, p, k, a, b, c); receive_request(p, k, a, b, c) }
		:: k != 0 && !IS_REQUEST(k) && !IS_DOWN(k) -> d_step {
			arrive_at_switch(p, k, a, b, c) }
		:: IS_DOWN(k) && p != 3 -> d_step {
			arrive_at_worker(p, k, a, b, c) }
#if RACK
		:: IS_DOWN(k) && p == 3 -> d_step {
			arrive_at_rack(k, a, b, c) }
#endif
		:: k == 0
		fi;
		d_step { IF_RACK(pump_up())
			p = 0; k = 0; a = 0; b = 0; c = 0; was_late = false }
		}
	:: QUIET && !OVER -> d_step { printf("@ a second passes\n");
		pass_second(); run_all_timers(); skip }
	/* a process that has ended sent late packets */
	:: QUIET && rounds > 0 && late ?? [1, _, _, _, _] &&
	   wk[1].port == 2 && !OVER -> d_step { rounds--;
		printf("@ a while passes\n"); run_all_timers(); skip }
	:: kills > 0 && wk[1].port == 1 && !OVER -> d_step {
		kills--; printf("@ kill\n"); clear(down[1]); begin_life(1, 2); skip }
	:: leaves > 0 && wk[1].joined && wk[1].port == 1 && !OVER -> d_step {
		leaves--; printf("@ leave\n");
		send_up(1, LEAVE, 0, 0, (wk[1].xid + 1) % 16);
		clear(down[1]); begin_life(1, 2); skip }
	:: signs > 0 && wk[0].joined && !wk[0].open && !OVER -> d_step {
		signs--; printf("@ sign of life\n"); begin_join(0); skip }
	:: restarts > 0 && !OVER -> d_step { restarts--;
		printf("@ restart\n"); s = 0; restart_switch(); skip }
#if RACK
	:: rack_restarts > 0 && !OVER -> d_step { rack_restarts--;
		printf("@ restart of the rack\n"); restart_rack(); skip }
#endif
	:: moved -> moved = false;
progress:	skip
	:: OVER -> break
	od
}
