/*
 * rack.pml - a rack: a switch whose parent is the top switch
 *
 * RACK=1 puts worker 1 behind the rack, and RACK=2 puts both workers there.
 * The rack is switch 1 towards its workers, with the rules of switch.pml.  It
 * is member 1 of switch 0 through port 3, with the rules of a membership in
 * worker.pml: wk[2] is this membership.  This file has the rules that only a
 * rack has.  Names follow common/iswitch/: iswitch_awaits_founder() is
 * AWAITS_FOUNDER, and so on.
 */
typedef Parent {
	bool wanted, refused;	/* has sent a Join; the parent refused it */
	bool repeats;		/* the first worker can repeat an iteration */
	bool repairs;		/* the parent has accepted the rack: `sending`
				 * and `sent` are valid */
	byte next;		/* iteration in the last Ack, on the wire */
	byte founder;		/* seconds to wait for the first worker */
	byte sending, sent	/* iteration whose sums are sent; bits of the
				 * sums that were sent */
};
Parent parent;

#define TRUTH(t)	(((t) + MOD - first) % MOD)	/* of a wire number */
#define HAS_HAD(n)	(NEWER(n) || COMPLETE(n))
#define UP_WORKS	(parent.repairs && wk[2].joined && !wk[2].forgotten)
#define UP_HAS(i)	HAS_HAD(N(parent.sending, i))
#define UP_HERE		(UP_HAS(0) + 2 * UP_HAS(1))

/* The values of the rack's Join, which put_join() sends. */
inline set_place()
{
	s = 1; set_next();
	wk[2].at = TRUTH(next);
	wk[2].prev = (PRESENT > 0 -> CAN_REPEAT(next) : parent.repeats)
}

inline clear_parent()
{
	parent.wanted = false; parent.refused = false; parent.repeats = false;
	parent.repairs = false; parent.next = 0; parent.founder = 0;
	parent.sending = 0; parent.sent = 0;
	wk[2].joined = false; wk[2].open = false; wk[2].forgotten = false;
	wk[2].instance = 0; wk[2].at = 0; wk[2].said = 0; wk[2].prev = false;
	wk[2].tag = 0
}

/* The job of the rack has no member left: leave the parent. */
inline leave_parent()
{
	if
	:: s == 1 ->
		if
		:: parent.wanted && !parent.refused ->
			wk[2].xid = (wk[2].xid + 1) % 16;
			send_up(3, LEAVE, 0, 0, wk[2].xid)
		:: else
		fi;
		clear_parent()
	:: else
	fi
}

/* iswitch_was_refused_further() */
#define NEXT_AT(wire)	BEFORE(WIRE(wk[2].at), wire)
#ifdef ASK_FOR_ANY
#define WAS_REFUSED_FURTHER(wire) (s == 1 && parent.refused)
#elif defined(ASK_NEVER)
#define WAS_REFUSED_FURTHER(wire) false
#else
#define WAS_REFUSED_FURTHER(wire) (s == 1 && parent.refused && \
	    (NEXT_AT(parent.next) -> NEXT_AT(wire) : \
	    BEFORE(wire, WIRE(wk[2].at)) && !BEFORE(wire, parent.next)))
#endif

/*
 * The parent refused the rack.  Found the job again if the parent may accept
 * the worker whose Join arrives now.
 */
inline forget_refusal(wire0)
{
	if
	:: WAS_REFUSED_FURTHER(wire0) -> release_if_empty()
	:: else
	fi
}

#define AWAITS_FOUNDER	(s == 1 && wk[2].joined && PRESENT == 0 && \
	    parent.founder > 0)
#ifdef ANY_FOUNDER
#define IS_BEHIND_FOUNDER false
#else
#define IS_BEHIND_FOUNDER (!parent.repeats && AWAITS_FOUNDER && n < J.start)
#endif
#ifdef AHEAD_OF_PARENT
#define IS_BEHIND_PARENT false
#else
#define IS_BEHIND_PARENT (s == 1 && wk[2].joined && n < J.start && \
	    n < UNWRAP(parent.next, J.newest))
#endif

/*
 * Must the answer to a Join wait for the parent, or for the first worker?  Sets
 * ok if not.  If the parent has refused the rack, the rack forwards the answer.
 */
inline await_parent(p, again0, id)
{
	if
	:: s == 0 -> skip
	:: s == 1 && wk[2].joined ->
		ok = IS_MEMBER(p) || !IS_BEHIND_FOUNDER
	:: s == 1 && !wk[2].joined && parent.refused ->
		ok = false; answer(p, REFUSED, parent.next, id);
		release_if_empty()
	:: else ->
		ok = false; parent.founder = 2;
		if
		:: !parent.wanted ->
			parent.wanted = true; parent.repeats = (again0);
			begin_join(2)
		:: else
		fi
	fi
}

/* A worker that is behind the parent must fetch a state. */
inline check_parent()
{
	ok = !IS_BEHIND_PARENT
}

inline note_refusal()
{
	if :: !AWAITS_FOUNDER -> release_if_empty() :: else fi
}

/* A worker has joined.  If the rack now begins earlier, it tells the parent. */
inline note_entry()
{
	if
	:: s == 1 ->
		parent.founder = 0;
#ifndef TELL_NOTHING
		if
		:: J.start < was && !wk[2].open -> begin_join(2)
		:: else
		fi
#endif
	:: else
	fi
}

/* The job begins one iteration earlier. */
inline step_back_sending()
{
	if
	:: s == 1 && parent.repairs -> parent.sending--
	:: else
	fi
}

/* Discard all sums from iteration m on: job_repeat_from(). */
inline repeat_from(m)
{
	if :: (m) < J.start -> step_back() :: else fi;
	x = 0;
	do
	:: x < 2 * span ->
		if
		:: SLOT(x).is != EMPTY && span == 2 &&
		   SLOT(x).num / 2 > (m) ->
			SLOT(x).num = SLOT(x).num - 4; SLOT(x).is = DROPPED;
			SLOT(x).givers = 0; SLOT(x).what = 0
		:: SLOT(x).is >= FULL && span == 2 && SLOT(x).num / 2 == (m) ->
			SLOT(x).is = FILLING; SLOT(x).givers = 0
		:: SLOT(x).is != EMPTY && span == 1 && SLOT(x).num / 2 >= (m) ->
			empty_slot(x)
		:: else
		fi;
		x++
	:: else -> break
	od;
	if :: span == 1 -> J.fresh = (m) :: else fi;
	J.newest = (J.newest > (m) -> (m) : J.newest)
}

/* The Join of the rack says that it begins one iteration earlier. */
inline follow_rack(p)
{
#ifdef IGNORE_EARLIER
	skip
#else
	if
	:: p == 3 && n == J.start - 1 && !HAS_HAD(N(J.start, 0)) &&
	   !HAS_HAD(N(J.start, 1)) && CAN_REPEAT(J.start) ->
		t = J.start - 1; repeat_from(t)
	:: else
	fi
#endif
}

/* Send the sums of iteration m from now on. */
inline start_sending(m)
{
	parent.sending = (m); parent.sent = 0;
	wk[2].tag = (wk[2].tag + 1) % 16
}

/* Send the sums that are complete, as far as the parent has slots. */
inline pump_up()
{
	s = 1; v = 0;
	do
	:: v < 2 ->
		n = N(parent.sending, v);
		if
		:: UP_WORKS && !(parent.sent >> v & 1) && SAME(n) &&
		   SLOT(n).is == SENT_UP &&
		   (v == 0 || span == 2 || UP_HAS(0)) ->
			parent.sent = parent.sent | (1 << v);
			send_up(3, PUSH, SLOT(n).what, v, SLOT(n).givers)
		:: else
		fi;
		v++
	:: else -> break
	od
}

/*
 * The parent has accepted the Join of the rack.  If the rack is new in this
 * instance of the job, it repeats the first incomplete iteration.
 */
inline accept_rack(inst, wire)
{
	parent.next = wire; wk[2].at = 0;
	if
	:: wk[2].joined && inst == wk[2].instance -> skip
	:: else ->
		wk[2].joined = true; wk[2].instance = inst;
		set_next(); t = next;
#ifndef KEEP_SUMS
		repeat_from(t);
#endif
		set_next(); parent.repairs = true; start_sending(next)
	fi
}

/* The parent has refused the rack, so its members must join again. */
inline refuse_rack(wire)
{
	parent.next = wire; parent.refused = true; wk[2].joined = false;
	if :: PRESENT > 0 -> remove_all() :: else fi
}

/* A result of the parent: job_receive_result() and what follows. */
inline receive_parent_result(truth, index, who)
{
	t = UNWRAP(WIRE(truth), J.newest); n = N(t, index);
	if
	:: !J.has || t < J.start || KEPT(n) || NEWER(n) ||
	   (span == 1 && !SAME(n) && !MAY_BEGIN(t, index)) -> skip
	:: else ->
		if
		:: SAME(n) -> skip
		:: else ->
			SLOT(n).num = n; SLOT(n).givers = 0;
			SLOT(n).what = truth; SLOT(n).is = FILLING;
			J.newest = (t > J.newest -> t : J.newest)
		fi;
		if
		:: SLOT(n).is == DROPPED -> SLOT(n).what = truth
		:: else -> assert(SLOT(n).what == truth)  /* NO WRONG SUM */
		fi;
		SLOT(n).is = FULL; SLOT(n).givers = 0;
		send_to_members(RESULT, truth, index, who);
		if
		:: parent.repairs && t > parent.sending + 1 ->
			start_sending(t - 1)
		:: else
		fi;
		do
		:: parent.repairs && t == parent.sending && UP_HERE == 3 ->
			t++; start_sending(t)
		:: else -> break
		od
	fi
}

/* Discard result m, which came from an earlier instance of the parent's job. */
inline repeat_segment(m)
{
	if
	:: span == 2 -> SLOT(m).is = FILLING; SLOT(m).givers = 0
	:: else -> empty_slot(m)
	fi;
	send_to_members(HELP, (m) / 2 % MOD, (m) & 1, 0)
}

inline receive_parent_state(wire, lacks, id)
{
	if
	:: !parent.repairs || (id & 15) != wk[2].tag -> skip
	:: parent.repairs && (id & 15) == wk[2].tag &&
	   wire == (parent.sending + MOD - 1) % MOD ->
#ifndef RACK_NO_REDO
		t = parent.sending - 1;
		if
		:: CAN_REPEAT(t + 1) -> repeat_from(t); start_sending(t)
		:: else
		fi
#endif
	:: parent.repairs && (id & 15) == wk[2].tag &&
	   wire == parent.sending % MOD ->
		i = 0;
		do
		:: i < 2 ->
			n = N(parent.sending, i);
			if
			:: !UP_WORKS || !(lacks >> i & 1) -> skip
			:: UP_WORKS && (lacks >> i & 1) && SAME(n) &&
			   SLOT(n).is == SENT_UP && (parent.sent >> i & 1) ->
				send_up(3, PUSH, SLOT(n).what, i,
				    SLOT(n).givers)
#ifndef RACK_KEEP_RESULT
			:: UP_WORKS && (lacks >> i & 1) && COMPLETE(n) &&
			   UP_HERE != 3 && (lacks >> (i + 2) & 1) ->
				parent.sent = parent.sent & (3 - (1 << i));
				repeat_segment(n)
#endif
			:: else
			fi;
			i++
		:: else -> break
		od
	:: else
	fi
}

#ifdef NEED_ALWAYS
#define NEEDS_RESULT(t)	true
#else
#define NEEDS_RESULT(t)	((M(0).present && M(0).next <= (t)) || \
	    (M(1).present && M(1).next <= (t)))
#endif

/* The parent no longer keeps a result. */
inline receive_parent_gone(wire, index)
{
	t = UNWRAP(wire, J.newest); n = N(t, index);
	if
	:: !J.has || !wk[2].joined || HAS_HAD(n) -> skip
	:: J.has && wk[2].joined && !HAS_HAD(n) && span == 1 -> remove_all()
	:: else ->
		send_to_members(GONE, wire, index, 0);
		if
		:: FRESH || !NEEDS_RESULT(t) -> remove_all()
		:: else
		fi
	fi
}

inline arrive_at_rack(k, a, b, c)
{
	s = 1;
	SAY(0, 3, k, a, b, c);
	if
	:: k == ACK -> receive_ack(2, a, b, c)
	:: k == RESULT -> receive_parent_result(a, b, c)
	:: k == STATE -> receive_parent_state(a, b, c)
	:: k == NONE -> receive_none(2)
	:: k == GONE -> receive_parent_gone(a, b)
	:: k == CHALLENGE -> receive_challenge(2, a)
	:: else
	fi
}

/* The rack has received nothing from the parent for too long. */
inline run_rack_timers()
{
	s = 1;
	if :: wk[2].open -> put_join(2) :: else fi;
	lk = UP_HERE;
	if
	:: UP_WORKS && parent.sent != 0 && lk != 3 ->
		lk = 4 * lk + (parent.sent & (3 - lk));
		send_up(3, PROBE, TRUTH(parent.sending), lk,
		    wk[2].tag + 16 * wk[2].xid)
	:: else
	fi
}

/* The rack waits for its first worker for two seconds. */
inline pass_second_at_rack()
{
	s = 1;
	M(0).young = false; M(1).young = false;
	M(0).doubted = false; M(1).doubted = false;
	if
	:: AWAITS_FOUNDER -> parent.founder--
	:: else
	fi
}

/* The rack forgets everything. */
inline restart_rack()
{
	s = 1; clear_parent(); wk[2].cookie = 0; clear(down[3]);
	restart_switch()
}
