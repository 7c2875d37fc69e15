/*
 * stream-order.h - what a training process may say, and when: innet-stream(5)
 *
 * Hello, then weights, once each, then gradients, all of the length that the
 * hello said, of finite values; bye at any time.  Pure: messages go in, and
 * why one may not come now goes out, good until the next call.
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

/* Where gradients point, by the child's hello. */
enum stream_direction { STREAM_UNSAID, STREAM_UP, STREAM_DOWN };

struct stream_order {
	uint32_t most;			/* elements that are carried */
	const char *carrier;		/* by whom: "--program iswitch" */
	uint32_t elements;		/* of all vectors; 0 not known yet */
	bool hello, weights;		/* have come */
	bool gives;			/* its state, if it is asked for */
	enum stream_direction direction;
	bool asked;			/* it has been, and owes it */
	char why[128];
};

/* Its hello: JSON with the length of its vectors. */
static inline const char *
stream_order_hello(struct stream_order *t, const struct stream_head *h,
    const uint8_t *body)
{
	cJSON *json = cJSON_ParseWithLength((const char *)body, h->elements);
	const cJSON *n = cJSON_GetObjectItem(json, "elements");
	const cJSON *v = cJSON_GetObjectItem(json, "version");
	double elements = cJSON_IsNumber(n) ? n->valuedouble : 0;
	bool spoken = !cJSON_IsNumber(v) || v->valuedouble == 1;
	bool gives = cJSON_IsTrue(cJSON_GetObjectItem(json, "state"));
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
	t->gives = gives;
	t->direction = up ? STREAM_UP : down ? STREAM_DOWN : STREAM_UNSAID;
	t->elements = (uint32_t)elements;
	return NULL;
}

/* A message: NULL if it may come now, or why not. */
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

/* What must come and has not yet: NULL if nothing, else its name. */
static inline const char *
stream_order_missing(const struct stream_order *t)
{
	return !t->hello ? "hello" : !t->weights ? "weights" : NULL;
}

#endif
