/*
 * rigged.h - program iswitch in a plane whose outgoing packets go to the test
 */
#ifndef INNET_TEST_RIGGED_H
#define INNET_TEST_RIGGED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/iswitch/program.h"
#include "common/switch/receive.h"

struct rigged {
	struct plane pl;
	struct plane_conf cf;
	struct iswitch_settings set;
};

/* Return the switch in the plane. */
static inline struct iswitch *
rigged_switch(const struct rigged *r)
{
	return &((struct iswitch_state *)r->pl.state)->s;
}

/* Open the plane with the settings cf; posts go to deliver. */
static inline void
rigged_open(struct rigged *r, const struct iswitch_conf *cf, uint32_t xid,
    outbox_deliver *deliver, void *ctx)
{
	static const struct plane_driver none;

	iswitch_set_defaults(&r->set);
	r->set.iswitch = *cf;
	r->set.parent.in.sin_family = AF_INET;
	r->cf = (struct plane_conf){ .program = &iswitch_program,
	    .settings = &r->set, .place = { .live = true, .xid = xid,
	    .key = cf->key, .memory_bytes = cf->memory_bytes } };
	r->cf.place.address.in.sin_family = AF_INET;
	if (!plane_init(&r->pl, &r->cf, &none, NULL))
		abort();
	outbox_init(&r->pl.out, deliver, ctx);
}

/* Receive a datagram at the switch's own address. */
static inline void
rigged_take(struct rigged *r, const union addr *from, uint8_t tos,
    const void *bytes, size_t len, uint64_t now_ns)
{
	struct packet p = { .from = from, .to = &r->cf.place.address,
	    .tos = tos, .payload = (uint8_t *)(uintptr_t)bytes,
	    .bytes = (uint32_t)len };

	r->pl.now_ns = now_ns;
	plane_receive(&r->pl, &p);
}

static inline void
rigged_close(struct rigged *r)
{
	plane_free(&r->pl);
}

#endif
