/*
 * switch.pml - a switch: members, slots, Probes and state transfer
 *
 * Names follow common/iswitch/: job_can_repeat() is CAN_REPEAT here, and so on.
 * All functions work on switch s: 0 is the top switch, 1 the rack.  Iterations
 * in a job never wrap: the switch unwraps those of packets beside `newest`.
 */
#if RACK
#define SWITCHES 2
#else
#define SWITCHES 1
#endif
hidden byte span;	/* slots of one vector: 2, or 1 for bounded memory */
#define SLOTS	4	/* of these, 2 * span are used */

#define EMPTY	0	/* states of a slot */
#define FILLING	1
#define SENT_UP	2
#define FULL	3
#define DROPPED	4	/* complete, but its result is no longer kept */

typedef Slot {
	byte num;	/* iteration * 2 + index */
	byte is;	/* one of the states above */
	byte givers;	/* members that have contributed, one bit each */
	byte what	/* iteration of the gradients in it: only assertions
			 * read it */
};
typedef Member {
	bool present, confirmed, young;
	bool doubted;		/* it replaced a member that was new */
	byte port, before;	/* before: port of the last holder + 1 */
	byte from, gives;	/* first iteration it may add to; first one it
				 * can give again */
	byte xid		/* xid of the Join that was accepted */
#if RACK
	;
	byte next		/* iteration of its last Join */
#endif
};
typedef Job {
	bool has, open, ahead;
	byte start, fresh, newest, instance, founded, cookie
};
typedef Answered { byte xid, status, next; bool any, done };

Slot slot[SLOTS * SWITCHES];
Member mem[2 * SWITCHES];
Job job[SWITCHES];
Answered last[PORTS];	/* the answer to the newest request of a port */

/* Variables that are used within one step. */
hidden byte s, w, i, t, n, x, next, lk, pt;
hidden byte ok, in, keep, was;

#if RACK == 2		/* both workers are behind the rack */
#define AT(p)	((p) == 3 -> 0 : 1)	/* the switch of a port */
#define EVERY	(s == 0 -> 2 : 3)	/* bits of the members that must
					 * contribute */
#define WORKERS_IN(bits) (s == 0 -> 3 * ((bits) >> 1) : (bits))
#elif RACK == 1		/* worker 1 is behind the rack */
#define AT(p)	((p) == 0 || (p) == 3 -> 0 : 1)
#define EVERY	(s == 0 -> 3 : 2)
#define WORKERS_IN(bits) (bits)
#else
#define AT(p)	0
#define EVERY	3
#define WORKERS_IN(bits) (bits)
#endif
#define W(p)	((p) == 0 -> 0 : 1)	/* number of the member */
#define M(k)	mem[s * 2 + (k)]
#define J	job[s]
#define IS_MEMBER(p) (M(W(p)).present && M(W(p)).port == (p))

#define N(t, i)	((t) * 2 + (i))
#define SLOT(n)	slot[s * SLOTS + (n) % (2 * span)]
#define NEWER(n) (SLOT(n).is != EMPTY && SLOT(n).num > (n))
#define SAME(n)	(SLOT(n).is != EMPTY && SLOT(n).num == (n))
#define KEPT(n)	(SAME(n) && SLOT(n).is == FULL)
#define COMPLETE(n) (SAME(n) && SLOT(n).is >= FULL)
#define HAS_HAD(n) (NEWER(n) || COMPLETE(n))
#define DONE(t)	(HAS_HAD(N(t, 0)) && HAS_HAD(N(t, 1)))
#define WHOLE(t) ((t) < J.fresh || DONE(t))	/* job_is_whole() */
#define MAY_BEGIN(t, i)	((t) >= J.start && \
	    ((N(t, i) - span) / 2 < J.fresh || COMPLETE(N(t, i) - span)))
#define RACK_WORKERS (RACK == 2 -> 3 : 2)
#define PRESENT	(M(0).present + M(1).present)
#define ALL_PRESENT (M(0).present + 2 * M(1).present == EVERY)
#define CAN_REPEAT(t) ((!M(0).present || M(0).gives < (t)) && \
	    (!M(1).present || M(1).gives < (t)) && ((t) == J.start -> \
	    !J.ahead : (!M(0).present || M(0).from < (t)) && \
	    (!M(1).present || M(1).from < (t))))

inline empty_slot(y)
{
	SLOT(y).num = 0; SLOT(y).is = EMPTY; SLOT(y).givers = 0;
	SLOT(y).what = 0
}

inline release()	/* the job has no member left */
{
	J.has = false; J.open = false; J.ahead = false;
	J.start = 0; J.fresh = 0; J.newest = 0; J.instance = 0;
	x = 0;
	do
	:: x < 2 * span -> empty_slot(x); x++
	:: else -> break
	od;
	IF_RACK(leave_parent())
}

inline clear_member(k)
{
	M(k).present = false; M(k).confirmed = false; M(k).young = false;
	M(k).doubted = false;
	M(k).port = 0; M(k).before = 0; M(k).from = 0; M(k).gives = 0;
	M(k).xid = 0;
	IF_RACK(M(k).next = 0)
}

inline release_if_empty()
{
	if
	:: PRESENT == 0 && J.has -> release()
	:: else
	fi
}

inline remove_all()
{
	clear_member(0); clear_member(1); release_if_empty()
}

inline set_next()	/* job_next_iteration() */
{
	next = (J.newest > J.start -> J.newest - 1 : J.start);
	next = (next > J.fresh -> next : J.fresh);
	do
	:: next <= J.newest && DONE(next) -> next++
	:: else -> break
	od
}

inline set_keep(m)	/* job_keeps_results_from() */
{
	keep = (m) <= J.newest + 1 && J.newest <= (m) + 2;
	x = m;
	do
	:: keep && x < next -> keep = KEPT(N(x, 0)) && KEPT(N(x, 1)); x++
	:: else -> break
	od
}

inline step_back()
{
	J.start--; J.fresh = J.start; J.newest--; J.ahead = true;
	M(0).from = J.start; M(1).from = J.start;
	IF_RACK(step_back_sending())
}

/* May a worker continue from iteration n?  Sets ok. */
inline may_join_at(again)
{
	set_next();
	if
	:: J.newest >= J.start -> set_keep(n); ok = keep
	:: J.newest < J.start && n + 1 == J.start && CAN_REPEAT(J.start) ->
		step_back(); ok = true
	:: J.newest < J.start && n == J.start + 1 && again ->
		J.ahead = true; ok = true
	:: else -> ok = n == J.start
	fi
}

#define GIVEN(n) (NEWER(n) || (SAME(n) && (SLOT(n).is >= FULL || \
	    (SLOT(n).givers >> w & 1))))
#define FRESH	(J.newest <= J.start && SLOT(0).is < FULL && \
	    SLOT(1).is < FULL && SLOT(2 * span - 2).is < FULL && \
	    SLOT(2 * span - 1).is < FULL)

/* Does the job begin again with a worker that is ahead?  Sets in. */
inline should_restart_at(wire, again)
{
	set_next(); t = next; n = UNWRAP(wire, J.newest);
	n = (t % MOD == 0 && n + NEAR < t -> n + MOD : n);
	if
	:: n <= t || (n == t + 1 && again) || (wire == 0 && n > t + NEAR) ->
		in = false
	:: else ->
		may_join_at(again);
		in = (ok -> n == t + 1 && GIVEN(N(t, 0)) && GIVEN(N(t, 1)) :
		    FRESH)
	fi;
#ifdef NO_RESTART_AT
	in = false
#endif
}

/*
 * Does the iteration begin again because there are few slots?  Sets in.  A rack
 * that repeats iteration `next` has no slot for its first segments.
 */
inline should_repeat(p, again)
{
	in = false;
	if
	:: span < 2 && J.newest >= J.start ->
		set_next();
		if
		:: n == next || (n == next + 1 && p == 3 && again) ->
			in = NEWER(N(next, 0)) || NEWER(N(next, 1))
		:: n + 1 == next -> set_keep(n); in = !keep && CAN_REPEAT(next)
		:: else
		fi
	:: else
	fi;
#ifdef NO_REPEAT
	in = false
#endif
}

inline answer(p, st, wire, id)
{
	last[p].any = true; last[p].done = true; last[p].xid = id;
	last[p].status = (st) + 4 * J.instance; last[p].next = wire;
	send_down(p, ACK, last[p].status, last[p].next, id)
}

inline found(wire)
{
	J.has = true; n = MOD + wire; J.start = n; J.fresh = n;
	J.newest = n - 1; J.founded = J.founded % 7 + 1;
	J.instance = J.founded
}

inline enter(p)
{
	M(w).before = (M(w).present -> M(w).port + 1 : 0);
	M(w).from = (M(w).present -> M(w).from : J.start);
	M(w).doubted = M(w).present && M(w).young;
	M(w).present = true; M(w).confirmed = false; M(w).young = lives > 0;
	M(w).port = p
}

#ifdef CONFIRM_AT_ONCE
#define confirm()	M(w).confirmed = lives > 0
#else
#define confirm()	M(w).confirmed = M(w).confirmed || \
	    (lives > 0 && !(M(w).doubted && M(w).young))
#endif

inline receive_join(p, truth, again, id)
{
	w = W(p);
	if
	:: !IS_MEMBER(p) && M(w).present && M(w).before == p + 1 &&
	   M(w).confirmed -> answer(p, TAKEN, 0, id)
	:: !IS_MEMBER(p) && M(w).present && M(w).before == p + 1 &&
	   !M(w).confirmed && M(w).young -> skip  /* possibly a late Join */
	:: else ->
		in = false;
		if
		:: J.has -> should_restart_at(WIRE(truth), again);
			n = UNWRAP(WIRE(truth), J.newest);
			if
			:: !in && (!IS_MEMBER(p) || WENT_BACK(p)) ->
				should_repeat(p, again)
			:: else
			fi;
			if :: in -> remove_all() :: else fi
		:: else
		fi;
		IF_RACK(forget_refusal(WIRE(truth)))
		if
		:: J.has -> n = UNWRAP(WIRE(truth), J.newest)
		:: else -> found(WIRE(truth))
		fi;
		ok = true; IF_RACK(await_parent(p, again, id))
		if
		:: !ok -> skip		/* the parent must answer first */
		:: ok && IS_MEMBER(p) -> confirm(); M(w).gives = n - again;
			IF_RACK(M(w).next = n; follow_rack(p))
			answer(p, OK, M(w).from % MOD, id)
		:: else ->
			IF_RACK(was = J.start; check_parent())
			if :: ok -> may_join_at(again) :: else fi;
			if
			:: ok -> enter(p); M(w).gives = n - again;
				M(w).xid = id;
				J.open = J.open || ALL_PRESENT;
				answer(p, OK, M(w).from % MOD, id);
				IF_RACK(M(w).next = n; note_entry())
			:: else -> set_next();
				answer(p, REFUSED, next % MOD, id);
				IF_RACK(note_refusal())
			fi
		fi
	fi
}

/*
 * A Join or a Leave: each xid is executed once, and then its answer is
 * repeated.
 */
inline receive_request(p, k, truth, how, id)
{
	if
	:: last[p].any && last[p].xid == id && last[p].done ->
		if
		:: k == JOIN -> send_down(p, ACK, last[p].status, last[p].next,
			id)
		:: else
		fi
	:: last[p].any && ((id + 16 - last[p].xid) & 15) >= 8 -> skip
	:: else ->
		last[p].any = true; last[p].xid = id; last[p].done = false;
		if
		:: k == JOIN && CHALLENGED(how) ->
			send_down(p, CHALLENGE, J.cookie, 0, 0)
		:: k == JOIN && !CHALLENGED(how) ->
			receive_join(p, truth, (how & 1), id)
		:: k == LEAVE && IS_MEMBER(p) ->
			last[p].done = true; clear_member(W(p));
			release_if_empty()
		:: else
		fi
	fi
}

inline send_to_members(kind, f0, f1, f2)
{
	if
	:: M(0).present -> send_down(M(0).port, kind, f0, f1, f2)
	:: else
	fi;
	if
	:: M(1).present -> send_down(M(1).port, kind, f0, f1, f2)
	:: else
	fi
}

inline complete(m)	/* slot m has all contributions */
{
	if
	:: s == 0 ->
		SLOT(m).is = FULL;
		send_to_members(RESULT, SLOT(m).what, (m) & 1,
		    WORKERS_IN(SLOT(m).givers))
	:: else -> SLOT(m).is = SENT_UP	/* pump_up() sends it */
	fi
}

inline receive_push(p, truth, index, who)
{
	w = W(p);
	IF_RACK(assert(p != 3 || who == RACK_WORKERS))	/* NO WRONG SUM */
	if
	:: !IS_MEMBER(p) -> send_down(p, NONE, 0, 0, 0)
	:: else ->
#ifdef CONFIRM_BY_PUSH
		confirm();
#endif
		t = UNWRAP(WIRE(truth), J.newest); n = N(t, index);
		if
		:: !J.open || NEWER(n) -> skip
#ifdef COUNT_TWICE
		:: J.open && SAME(n) && SLOT(n).is == FILLING &&
		   (SLOT(n).givers >> w & 1) -> complete(n)
#endif
		:: J.open && SAME(n) && (SLOT(n).is != FILLING ||
		   (SLOT(n).givers >> w & 1)) -> skip	/* a duplicate, or too
							 * late */
#ifdef ANY_ITERATION
		:: J.open && !NEWER(n) && !SAME(n) && SLOT(n).is == FILLING ->
			n = SLOT(n).num;
			assert(SLOT(n).what == truth)	/* NO WRONG SUM */
#endif
#ifndef BEGIN_EARLY
		:: J.open && !NEWER(n) && !SAME(n) && !MAY_BEGIN(t, index) ->
			skip				/* too early */
#endif
		:: J.open && !NEWER(n) && M(w).from > t -> skip	/* late */
		:: else ->
			if
			:: SAME(n) -> skip
			:: else ->
				SLOT(n).num = n; SLOT(n).is = FILLING;
				SLOT(n).givers = 0; SLOT(n).what = truth;
				J.newest = (t > J.newest -> t : J.newest)
			fi;
			assert(SLOT(n).what == truth);	/* NO WRONG SUM */
			SLOT(n).givers = SLOT(n).givers | (1 << w);
			if
			:: SLOT(n).givers == EVERY -> complete(n)
			:: else
			fi
		fi
	fi
}

/*
 * The part of a Probe from which STATE lists segments: those that a worker has
 * sent, or all of a rack.  PROBE_HAD: the results that the member had.
 */
#define PROBE_UPTO(p, how) ((p) == 3 -> 3 : (how) >> 2)
#define PROBE_HAD(p, how) ((p) == 3 -> (how) >> 2 : 3 ^ ((how) & 3))
#define LACKED(n, t, i)	(!NEWER(n) && \
	    !(SAME(n) && (SLOT(n).is != FILLING || (SLOT(n).givers >> w & 1))) && \
	    (SAME(n) || span == 2 || MAY_BEGIN(t, i)))

#ifdef WAIT_BEFORE_START
#define IS_GONE(n, t)	NEWER(n)
#else
#define IS_GONE(n, t)	((t) < J.start || NEWER(n))
#endif

inline resend(p, lacks)
{
	i = 0;
	do
	:: i < 2 ->
		n = N(t, i);
		if
		:: (lacks >> i & 1) && KEPT(n) ->
			send_down(p, RESULT, SLOT(n).what, i, 3)
		:: (lacks >> i & 1) && !KEPT(n) && IS_GONE(n, t) ->
			send_down(p, GONE, t % MOD, i, 0)
		:: else
		fi;
		i++
	:: else -> break
	od
}

inline receive_probe(p, truth, how, tag)
{
	w = W(p);
	if
	:: !IS_MEMBER(p) -> send_down(p, NONE, 0, 0, 0)
	:: else ->
		if
		:: ((16 + (tag >> 4) - M(w).xid) & 15) < 8 -> confirm()
		:: else
		fi
	fi;
	if
	:: !IS_MEMBER(p) || !J.open -> skip	/* the answer comes later */
	:: else ->
		t = UNWRAP(WIRE(truth), J.newest); x = PROBE_UPTO(p, how);
		lk = 0;
		if
		:: t > J.start && t > M(w).from && !WHOLE(t - 1) ->
			t--; x = 3		/* it has this one already */
		:: else ->
#ifndef NO_RESEND
			resend(p, how)
#endif
		fi;
		if
		:: !WHOLE(t) && t >= M(w).from ->
			lk = ((x & 1) && LACKED(N(t, 0), t, 0)) +
			    2 * ((x & 2) && LACKED(N(t, 1), t, 1))
		:: else
		fi;
		lk = lk + 4 * (lk & (t == UNWRAP(WIRE(truth), J.newest) ->
		    PROBE_HAD(p, how) : 0));
		send_down(p, STATE, t % MOD, lk, tag)
	fi
}

inline receive_fetch(p)	/* the other worker gives the state */
{
	w = 1 - W(p); s = AT(wk[w].port);
	if
	:: J.has && M(w).present -> send_down(M(w).port, ASK, p, 0, 0)
	:: else
	fi
}

/* A state that is too old is not forwarded. */
inline receive_give(p, truth, to)
{
	if
	:: J.has && IS_MEMBER(p) ->
		n = UNWRAP(WIRE(truth), J.newest); set_next();
		if
		:: J.newest >= J.start -> set_keep(n)
		:: else -> keep = n >= J.start ||
			(n + 1 == J.start && CAN_REPEAT(J.start))
		fi;
		if
		:: keep -> send_down(to, CHUNK, truth, 0, 0)
		:: else
		fi
	:: else
	fi
}

inline restart_switch()	/* the switch forgets everything, and packets to it are
			 * lost */
{
	remove_all();
	J.cookie = (J.cookie + 1) % 4;
	x = 0;
	do
	:: x < PORTS ->
		if
		:: AT(x) == s -> clear(up[x]); last[x].any = false;
			last[x].done = false; last[x].xid = 0;
			last[x].status = 0; last[x].next = 0
		:: else
		fi;
		x++
	:: else -> break
	od
}
