/*
 * stream-order.h - check the order of messages of a training process:
 * innet-stream(5)
 *
 * A process sends hello, then its weights, once each, then gradients, all of
 * the length that the hello gave and with finite values; it may send bye at any
 * time.  Pure: the caller passes messages in and gets the reason why one is not
 * allowed, which is valid until the next call.
 */
#ifndef INNET_WIRE_STREAM_ORDER_H
#define INNET_WIRE_STREAM_ORDER_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/base/vec.h"
#include "common/wire/stream.h"

/* Whether the process maximizes or minimizes, by its hello. */
enum stream_direction { STREAM_UNSAID, STREAM_UP, STREAM_DOWN };

struct stream_order {
	uint32_t most;			/* elements that the carrier takes */
	const char *carrier;		/* its name: "--program iswitch" */
	uint32_t elements;		/* of each vector; 0: not known yet */
	bool hello, weights;		/* received */
	bool sends_state;		/* sends its state on request */
	enum stream_direction direction;
	bool asked;			/* a state was requested */
	char why[128];
};

/* Check a hello: JSON with the length of the vectors. */
static inline const char *
stream_order_hello(struct stream_order *t, const struct stream_head *h,
    const uint8_t *body)
{
	cJSON *json = cJSON_ParseWithLength((const char *)body, h->elements);
	const cJSON *n = cJSON_GetObjectItem(json, "elements");
	const cJSON *v = cJSON_GetObjectItem(json, "version");
	double elements = cJSON_IsNumber(n) ? n->valuedouble : 0;
	bool spoken = !cJSON_IsNumber(v) || v->valuedouble == 1;
	bool sends_state = cJSON_IsTrue(cJSON_GetObjectItem(json, "state"));
	const cJSON *to = cJSON_GetObjectItem(json, "gradients");
	const bool up = cJSON_IsString(to) && strcmp(to->valuestring,
	    "up") == 0;
	const bool down = cJSON_IsString(to) && strcmp(to->valuestring,
	    "down") == 0;

	cJSON_Delete(json);
	if (t->hello)
		return "says hello twice";
	if (!spoken)
		return "hello of a version that is not 1";
	if (!(elements >= 1) || elements != floor(elements))
		return "hello without a number of elements it can have";
	if (elements > t->most) {
		snprintf(t->why, sizeof(t->why), "hello of more than the %"
		    PRIu32 " elements that %s carries", t->most, t->carrier);
		return t->why;
	}
	t->hello = true;
	t->sends_state = sends_state;
	t->direction = up ? STREAM_UP : down ? STREAM_DOWN : STREAM_UNSAID;
	t->elements = (uint32_t)elements;
	return NULL;
}

/* Check a message; return NULL if it may come now, or why not. */
static inline const char *
stream_order_check(struct stream_order *t, const struct stream_head *h,
    const uint8_t *body)
{
	if (h->kind == STREAM_HELLO)
		return stream_order_hello(t, h, body);
	if (h->kind == STREAM_BYE)
		return NULL;
	if (!t->hello)
		return "no hello came first";
	if (h->kind == STREAM_RESULT)
		return "a result, from the side that trains";
	if (h->kind == STREAM_STATE) {
		if (!t->asked)
			return "a state that nobody has asked for";
		t->asked = false;
		return NULL;
	}
	if (h->elements != t->elements)
		return "a vector of another length than its hello said";
	if (h->kind == STREAM_GRADIENT && !t->weights)
		return "a gradient before its weights";
	if (h->kind == STREAM_WEIGHTS && t->weights)
		return "weights twice";
	if (!vec_finite(body, h->elements))
		return "a value that is not finite: training diverges, by "
		    "its learning rate or --maximize?";
	t->weights |= h->kind == STREAM_WEIGHTS;
	return NULL;
}

/* Return the name of the message that must come next, or NULL if none must. */
static inline const char *
stream_order_missing(const struct stream_order *t)
{
	return !t->hello ? "hello" : !t->weights ? "weights" : NULL;
}

#endif
