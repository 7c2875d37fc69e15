/*
 * stream-order.h - check the order of messages of a training process:
 * innet-stream(5)
 *
 * A process sends one hello, then its weights once, and after that gradients.
 * All vectors must have the length that is in the hello, and contain only
 * finite values.  With "ring" in the hello, gradients and weights can have any
 * length.  With "nonfinite" as well, gradients can contain any values.  The
 * process may send a bye at any time.  The caller passes
 * each message to stream_order_check(), which returns the reason if the message
 * is not allowed at this point.  The reason is valid until the next call.
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

/*
 * The direction of the gradients according to the hello: ascent (maximize) or
 * descent (minimize).
 */
enum stream_direction { STREAM_UNSAID, STREAM_UP, STREAM_DOWN };

struct stream_order {
	uint32_t most;			/* maximum number of elements in a
					 * vector that the carrier supports */
	const char *carrier;		/* name of the carrier in error
					 * messages, such as "--program
					 * iswitch" */
	uint32_t elements;		/* number of elements of each vector; 0:
					 * not known yet */
	bool can_ring;			/* the carrier supports rings */
	bool ring;			/* gradients have any length */
	bool nonfinite;			/* gradients may contain infinities and
					 * values that are not a number */
	bool hello, weights;		/* a hello has arrived; weights have
					 * arrived */
	bool sends_state;		/* the process sends its state when it
					 * is asked to */
	enum stream_direction direction;
	bool asked;			/* a state was requested and has not
					 * arrived */
	char why[128];
};

/*
 * Read the members "ring" and "nonfinite" of a hello.  Returns NULL, or the
 * reason why they are not allowed.
 */
static inline const char *
stream_order_ring(struct stream_order *t, const cJSON *json, bool sends_state)
{
	t->ring = cJSON_IsTrue(cJSON_GetObjectItem(json, "ring"));
	t->nonfinite = cJSON_IsTrue(cJSON_GetObjectItem(json, "nonfinite"));
	if (t->nonfinite && !t->ring)
		return "hello with \"nonfinite\" but without \"ring\"";
	if (t->ring && !t->can_ring) {
		snprintf(t->why, sizeof(t->why), "hello with \"ring\", which "
		    "%s does not support; use --program iswitch", t->carrier);
		return t->why;
	}
	return t->ring && sends_state ? "hello with both \"ring\" and "
	    "\"state\"" : NULL;
}

/* Check a hello, which is JSON and contains the length of the vectors. */
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
	const char *ring = t->hello ? NULL : stream_order_ring(t, json,
	    sends_state);

	cJSON_Delete(json);
	if (t->hello)
		return "a second hello";
	if (!spoken)
		return "hello with a version other than 1";
	if (!(elements >= 1) || elements != floor(elements))
		return "hello without a valid number of elements";
	if (elements > t->most) {
		snprintf(t->why, sizeof(t->why), "hello with more than the "
		    "%" PRIu32 " elements that %s can carry", t->most,
		    t->carrier);
		return t->why;
	}
	if (ring != NULL)
		return ring;
	t->hello = true;
	t->sends_state = sends_state;
	t->direction = up ? STREAM_UP : down ? STREAM_DOWN : STREAM_UNSAID;
	t->elements = (uint32_t)elements;
	return NULL;
}

/*
 * Check a message.  Returns NULL if the message is allowed now; otherwise
 * returns the reason why it is not.
 */
static inline const char *
stream_order_check(struct stream_order *t, const struct stream_head *h,
    const uint8_t *body)
{
	if (h->kind == STREAM_HELLO)
		return stream_order_hello(t, h, body);
	if (h->kind == STREAM_BYE)
		return NULL;
	if (!t->hello)
		return "a message before the hello";
	if (h->kind == STREAM_RESULT)
		return "a result, which the training side must not send";
	if (h->kind == STREAM_STATE) {
		if (!t->asked)
			return "a state that was not requested";
		t->asked = false;
		return NULL;
	}
	if (t->ring && h->kind == STREAM_GRADIENT && h->elements == 0)
		return "a gradient without elements";
	if (h->elements != t->elements && !t->ring)
		return "a vector with another length than the hello has";
	if (h->kind == STREAM_GRADIENT && !t->weights)
		return "a gradient before the weights";
	if (h->kind == STREAM_WEIGHTS && t->weights)
		return "a second message with weights";
	if (!(t->nonfinite && h->kind == STREAM_GRADIENT) &&
	    !vec_finite(body, h->elements))
		return "a value that is not finite; does training diverge "
		    "because of its learning rate, or --maximize?";
	t->weights |= h->kind == STREAM_WEIGHTS;
	return NULL;
}

/*
 * Return the name of the message that the process must send next, or NULL if it
 * need not send any particular message.
 */
static inline const char *
stream_order_missing(const struct stream_order *t)
{
	return !t->hello ? "hello" : !t->weights ? "weights" : NULL;
}

#endif
