/*
 * network.pml - packets under way, and the faults of the network
 *
 * Each port of a member has a channel up to its switch and one down.  A channel
 * keeps the order.  `lates` packets may be taken out of their channel: each of
 * them arrives at any later time or never, so a late packet is also a lost one.
 * `dups` packets arrive once at their turn and once more as a late packet.  Two
 * equal packets in one channel count as one.
 */
#if RACK
#define PORTS	4	/* port 3: the rack, as a member of the top switch */
#else
#define PORTS	3	/* ports of worker 0, of worker 1 and of its replacement
			 */
#endif
#define QUEUE	12	/* greatest number of packets in one channel */

/* Kinds of packets; a, b and c are the fields. */
#define JOIN	1	/* up: iteration, again + 2 cookie, xid */
#define LEAVE	2	/* up: -, -, xid */
#define PUSH	3	/* up: iteration, index, bits of the workers in it */
#define PROBE	4	/* up: iteration, lacks + 4 sent, tag + 16 xid */
#define FETCH	5	/* up: - */
#define GIVE	6	/* up: a state that begins with that iteration */
#define ACK	7	/* down: status + 4 instance, wire iteration, xid */
#define RESULT	8	/* down: iteration, index, bits of the workers in it */
#define STATE	9	/* down: wire iteration, lacks + 4 had, tag */
#define NONE	10	/* down: not a member */
#define GONE	11	/* down: wire iteration, index */
#define ASK	12	/* down: a Fetch that was forwarded */
#define CHUNK	13	/* down: a state that begins with that iteration */
#define HELP	14	/* down: wire iteration, index: send this segment again
			 */
#define CHALLENGE 15	/* down: cookie */

#define OK	0	/* status of an ACK */
#define REFUSED	1
#define TAKEN	2

chan up[PORTS] = [QUEUE] of { byte, byte, byte, byte };
chan down[PORTS] = [QUEUE] of { byte, byte, byte, byte };
chan late = [2] of { byte, byte, byte, byte, byte };
byte lates, dups;	/* faults that may still happen; job.pml has others */

hidden byte q0, q1, q2, q3, q4;	/* the packet that is sent */
inline send_up(port0, kind0, a0, b0, c0)
{
	q0 = port0; q1 = kind0; q2 = a0; q3 = b0; q4 = c0;
	if
	:: up[q0] ?? [eval(q1), eval(q2), eval(q3), eval(q4)] -> skip
	:: else -> assert(nfull(up[q0])); up[q0] ! q1, q2, q3, q4
	fi
}
inline send_down(port0, kind0, a0, b0, c0)
{
	q0 = port0; q1 = kind0; q2 = a0; q3 = b0; q4 = c0;
	if
	:: down[q0] ?? [eval(q1), eval(q2), eval(q3), eval(q4)] -> skip
	:: else -> assert(nfull(down[q0])); down[q0] ! q1, q2, q3, q4
	fi
}

#if RACK
#define QUIET	(empty(up[0]) && empty(down[0]) && empty(up[1]) && \
	    empty(down[1]) && empty(up[2]) && empty(down[2]) && \
	    empty(up[3]) && empty(down[3]))
#define BUSY	(nempty(up[0]) || nempty(down[0]) || nempty(up[1]) || \
	    nempty(down[1]) || nempty(up[2]) || nempty(down[2]) || \
	    nempty(up[3]) || nempty(down[3]))
#else
#define QUIET	(empty(up[0]) && empty(down[0]) && empty(up[1]) && \
	    empty(down[1]) && empty(up[2]) && empty(down[2]))
#define BUSY	(nempty(up[0]) || nempty(down[0]) || nempty(up[1]) || \
	    nempty(down[1]) || nempty(up[2]) || nempty(down[2]))
#endif

inline clear(ch)
{
	do
	:: nempty(ch) -> ch ? _, _, _, _
	:: empty(ch) -> break
	od
}
