/*
 * iswitch.h - the words of mkiswitch and dumpiswitch, for tests
 *
 * A line is a packet: stamp, source, destination, what it is, its words.
 *
 *	TIME_NS SRC[:PORT] DST[:PORT] ...
 *	    seg ITERATION CONTRIBUTIONS INDEX FLOAT...
 *	    join JOB XID type=T mode=M cluster=N worker=N elements=N floats=N
 *		next=N crc=N
 *	    leave|reset|halt|resume JOB XID
 *	    set-h JOB XID h=N
 *	    fbcast|help JOB XID seg=ITERATION.CONTRIBUTIONS.INDEX
 *	    members|stats JOB XID page=N
 *	    ack JOB XID ACTION STATUS WORD=N...		(text=... to the end)
 *	    udp HEX					regular traffic
 *	    other BYTES					(only printed)
 *
 * and, of any of them, pass=HEX and seal=HEX (24 bytes each), and tos=N where
 * it is not its own.
 * The port is 46638 where none is written; it is always printed.
 */
#ifndef INNET_TEST_ISWITCH_H
#define INNET_TEST_ISWITCH_H

#include "common/wire/addr.h"
#include "common/wire/control.h"
#include "common/wire/frame.h"
#include "common/wire/seg.h"

#define ISWITCH_PORT "46638"

static const char *const iswitch_status[CONTROL_STATUSES] = {
	"done", "no-job", "no-room", "not-member", "refused", "bad-value",
	"not-ready", "bad-mac", "gone", "prove", "unknown"
};
static const char *const iswitch_type[] = { "0", "worker", "switch", "server" };
static const char *const iswitch_mode[] = { "sync", "async" };

#endif
