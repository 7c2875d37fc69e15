/*
 * worker.pml - a synchronous worker: what it sends and how it handles answers
 *
 * A worker computes in no time: it has the gradient of an iteration as soon as
 * it has applied the iteration before.  It holds the gradients of the iteration
 * that it is at and, if `prev` is set, of the one before.
 */
typedef Worker {
	bool joined, open;	/* is a member; has a Join without an answer */
	bool been;		/* it has been a member */
	bool forgotten;		/* was challenged, so the switch may have
				 * restarted */
	bool redo;		/* sends the gradient of the previous iteration
				 * again */
	bool prev, fetches;
	byte port, at;		/* at: the first iteration that it has not
				 * applied */
	byte xid, said;		/* said: `at` in the Join without an answer */
	byte from, instance, cookie;
	byte now, after;	/* results of the iteration sent, and of the
				 * next */
	byte sent, tag
};
#if RACK
Worker wk[3];		/* wk[2]: the rack, as a member of switch 0 */
#define IS_RACK(u) ((u) == 2)
#else
Worker wk[2];
#define IS_RACK(u) false
#endif
hidden byte u, v;
#define WORKS(u) (wk[u].joined && !wk[u].forgotten)

#define SENDS(u)	(wk[u].at - wk[u].redo)
#define ONLY_FETCHES(u)	BEFORE(WIRE(SENDS(u)), wk[u].from)

/*
 * Segments that the worker sent, or did not send because it had their results.
 */
#define PASSED(u)	(wk[u].sent | (wk[u].now & (span == 2 -> 3 : 1)))

inline put_join(u)
{
	IF_RACK(if :: u == 2 -> set_place() :: else fi)
	send_up(wk[u].port, JOIN, wk[u].at, wk[u].prev + 2 * wk[u].cookie,
	    wk[u].xid)
}

inline begin_join(u)
{
	wk[u].xid = (wk[u].xid + 1) % 16; wk[u].open = true;
	wk[u].said = (IS_RACK(u) -> 0 : wk[u].at);
	put_join(u)
}

inline rejoin(u)	/* leave, and join again from here */
{
	wk[u].joined = false; wk[u].xid = (wk[u].xid + 1) % 16;
	send_up(wk[u].port, LEAVE, 0, 0, wk[u].xid);
	begin_join(u)
}

inline begin_fetch(u)
{
	wk[u].joined = false; wk[u].open = false; wk[u].fetches = true;
	wk[u].xid = (wk[u].xid + 1) % 16;
	send_up(wk[u].port, FETCH, 0, 0, 0)
}

/*
 * Send the segments without a result in order, as far as the switch has slots.
 */
inline pump(u)
{
	v = 0;
	do
	:: v < 2 ->
		if
		:: WORKS(u) && !ONLY_FETCHES(u) &&
		   !((wk[u].sent | wk[u].now) >> v & 1) &&
		   (v == 0 || span == 2 || (wk[u].now & 1)) ->
			wk[u].sent = wk[u].sent | (1 << v);
			send_up(wk[u].port, PUSH, SENDS(u), v, 0)
		:: else
		fi;
		v++
	:: else -> break
	od
}

inline turn(u)
{
	wk[u].sent = 0; wk[u].tag = (wk[u].tag + 1) % 16
}

inline finish_redo(u)
{
	wk[u].redo = false; wk[u].now = wk[u].after; wk[u].after = 0; turn(u)
}

inline finish_results(u)	/* apply all results that are complete */
{
	do
	:: wk[u].now == 3 && wk[u].redo -> finish_redo(u)
	:: wk[u].now == 3 && !wk[u].redo ->
		wk[u].at++; wk[u].prev = true; wk[u].now = wk[u].after;
		wk[u].after = 0; turn(u); moved = true;
		if
		:: !ONLY_FETCHES(u) -> wk[u].from = WIRE(wk[u].at)
		:: else
		fi
	:: else -> break
	od
}

#ifdef HEAR_WHILE_OUT
#define HEARS(u)	wk[u].been
#else
#define HEARS(u)	wk[u].joined
#endif

inline receive_result(u, truth, index, who)
{
	if
	:: wk[u].fetches || !HEARS(u) -> skip
	:: !wk[u].fetches && HEARS(u) && WIRE(truth) == WIRE(SENDS(u)) ->
		assert(truth == SENDS(u) && who == 3);	/* NO WRONG SUM */
		wk[u].now = wk[u].now | (1 << index);
		finish_results(u); pump(u)
	:: !wk[u].fetches && HEARS(u) && WIRE(truth) == WIRE(SENDS(u) + 1) ->
		assert(truth == SENDS(u) + 1 && who == 3);
		wk[u].after = wk[u].after | (1 << index)
	:: else
	fi
}

inline enter_job(u, inst, wire)
{
	wk[u].joined = true; wk[u].been = true; wk[u].instance = inst;
	wk[u].redo = false; wk[u].now = 0; wk[u].after = 0;
	wk[u].from = wire; turn(u); pump(u)
}

#ifdef IGNORE_INSTANCE
#define STAYS(u, st)	wk[u].joined
#else
#define STAYS(u, st)	(wk[u].joined && (st) >> 2 == wk[u].instance)
#endif
#ifdef STALE_PROMISE
#define PROMISE_HOLDS(u)	true
#else
#define PROMISE_HOLDS(u)	(wk[u].said == wk[u].at)
#endif

inline receive_ack(u, st, wire, id)
{
	if
#ifdef REJOIN_AT_OLD_ACK
	/* a restarted switch has answered an old copy of the last Join */
	:: !IS_RACK(u) && !wk[u].fetches && !wk[u].open && wk[u].joined &&
	   wk[u].xid == id &&
	   (st & 3) == OK && (st >> 2) != wk[u].instance -> rejoin(u)
#endif
	:: !wk[u].fetches && wk[u].open && wk[u].xid == id ->
		wk[u].open = false;
		if
		:: (st & 3) == OK -> wk[u].forgotten = false
		:: else
		fi;
		if
#if RACK
		:: u == 2 && (st & 3) == OK -> accept_rack(st >> 2, wire)
		:: u == 2 && (st & 3) == REFUSED -> refuse_rack(wire)
#endif
		:: !IS_RACK(u) && (st & 3) == OK && STAYS(u, st) ->
			if
			:: BEFORE(wire, wk[u].from) -> wk[u].from = wire
			:: else
			fi;
			pump(u)
		:: !IS_RACK(u) && (st & 3) == OK && !STAYS(u, st) ->
			if
			:: PROMISE_HOLDS(u) -> enter_job(u, st >> 2, wire)
			:: else -> rejoin(u)
			fi
		:: !IS_RACK(u) && (st & 3) == REFUSED ->
			/*
			 * NOBODY IS SENT AWAY: the state of another worker must
			 * help
			 */
			assert((WIRE(wk[u].at) == 0 && wire < MOD - NEAR ->
			    wire != 0 : BEFORE(WIRE(wk[u].at), wire)));
			begin_fetch(u)
		:: else -> assert(false)	/* TAKEN: no other process has
						 * the number */
		fi
	:: else
	fi
}

inline receive_state(u, wire, lacks, id)
{
	if
	:: wk[u].joined && (id & 15) == wk[u].tag &&
	   wire == WIRE(SENDS(u) + MOD - 1) ->
#ifdef NO_REDO
		skip
#else
		if
		:: !wk[u].redo && wk[u].prev ->
			wk[u].redo = true; wk[u].after = wk[u].now;
			wk[u].now = 0;
			if
			:: ONLY_FETCHES(u) -> wk[u].from = WIRE(SENDS(u))
			:: else
			fi;
			turn(u); pump(u)
		:: else
		fi
#endif
	:: wk[u].joined && (id & 15) == wk[u].tag && wire == WIRE(SENDS(u)) ->
#ifdef ONLY_WITHOUT_RESULT
		lk = lacks & wk[u].sent & (3 ^ wk[u].now);
#else
		lk = lacks & 3;
#endif
#ifdef KEEP_LATE_RESULT
#elif defined(TAKE_BACK_LATER)
		wk[u].now = wk[u].now & (3 ^ (lacks & 3));
#else
		/*
		 * results from before the Probe belong to an earlier instance
		 */
		wk[u].now = wk[u].now & (3 ^ (lacks >> 2));
#endif
		if
		:: WORKS(u) && (lk & 1) ->
			send_up(wk[u].port, PUSH, SENDS(u), 0, 0)
		:: else
		fi;
		if
		:: WORKS(u) && (lk & 2) ->
			send_up(wk[u].port, PUSH, SENDS(u), 1, 0)
		:: else
		fi;
		pump(u)
	:: else
	fi
}

inline receive_gone(u, wire, index)
{
	if
	:: !wk[u].joined || wire != WIRE(SENDS(u)) -> skip
	:: wk[u].joined && wire == WIRE(SENDS(u)) && wk[u].redo && span == 2 ->
		finish_redo(u); finish_results(u); pump(u)
	:: wk[u].joined && wire == WIRE(SENDS(u)) &&
	   !(wk[u].redo && span == 2) ->
		if
		:: wk[u].now >> index & 1 -> skip
		:: !(wk[u].now >> index & 1) && wk[u].redo ->
			wk[u].now = wk[u].now | (1 << index);
			finish_results(u); pump(u)
		:: !(wk[u].now >> index & 1) && !wk[u].redo && span == 1 ->
			rejoin(u)
		:: else -> begin_fetch(u)
		fi
	fi
}

inline receive_challenge(u, cookie0)
{
	wk[u].cookie = cookie0;
#ifndef TRUST_CHALLENGER
	wk[u].forgotten = wk[u].joined;
#endif
	if
	:: wk[u].open -> put_join(u)
	:: !wk[u].open && wk[u].joined ->
#ifdef BELIEVE_CHALLENGE
		wk[u].joined = false;	/* as if it were no member */
#endif
		begin_join(u)
	:: else
	fi
}

inline receive_none(u)
{
	if
	:: wk[u].joined ->
		wk[u].joined = false;
		if
		:: !wk[u].open -> begin_join(u)
		:: else
		fi
	:: else
	fi
}

inline receive_help(u, wire, index)
{
	if
	:: WORKS(u) && wire == WIRE(SENDS(u)) && !ONLY_FETCHES(u) &&
	   (wk[u].sent >> index & 1) ->
		send_up(wk[u].port, PUSH, SENDS(u), index, 0)
	:: WORKS(u) && wire == WIRE(SENDS(u) + MOD - 1) && wk[u].prev &&
	   !wk[u].redo ->
		send_up(wk[u].port, PUSH, SENDS(u) - 1, index, 0)
	:: else
	fi
}

inline receive_chunk(u, truth)
{
	if
	:: wk[u].fetches ->
		wk[u].fetches = false; wk[u].been = false; wk[u].prev = false;
		wk[u].redo = false; wk[u].at = truth; begin_join(u)
	:: else
	fi
}

inline begin_life(u, p)
{
	wk[u].port = p; wk[u].joined = false; wk[u].been = false;
	wk[u].redo = false; wk[u].prev = false; wk[u].fetches = false;
	wk[u].forgotten = false; wk[u].at = 0; wk[u].xid = 0; wk[u].from = 0;
	wk[u].instance = 0;
	wk[u].now = 0; wk[u].after = 0; wk[u].sent = 0; wk[u].tag = 0;
	begin_join(u)
}

/* The worker has received nothing for too long. */
inline run_timers(u)
{
	if
	:: wk[u].fetches -> send_up(wk[u].port, FETCH, 0, 0, 0)
	:: !wk[u].fetches && wk[u].open -> put_join(u)
	:: else
	fi;
	if
	:: WORKS(u) -> send_up(wk[u].port, PROBE, SENDS(u),
		(3 ^ wk[u].now) + 4 * PASSED(u), wk[u].tag + 16 * wk[u].xid)
	:: else
	fi
}
