/* Test which messages a training process may send, and when. */
#include <math.h>
#include <string.h>

#include "common/wire/stream-order.h"
#include "tests/unit/tap.h"

static const float vec[4] = { 1, 2, 3, INFINITY };

/* Check a hello in JSON. */
static const char *
check_hello(struct stream_order *t, const char *json)
{
	const struct stream_head h = { .kind = STREAM_HELLO,
	    .elements = (uint32_t)strlen(json) };

	return stream_order_check(t, &h, (const uint8_t *)json);
}

/* Check a vector of n elements. */
static const char *
check_vector(struct stream_order *t, enum stream_kind kind, uint32_t n)
{
	const struct stream_head h = { .kind = (uint16_t)kind,
	    .elements = n };

	return stream_order_check(t, &h, (const uint8_t *)vec);
}

static bool
is_same_text(const char *got, const char *want)
{
	if (got == NULL || strcmp(got, want) != 0)
		note("%s", got == NULL ? "nothing" : got);
	return got != NULL && strcmp(got, want) == 0;
}

/* A process whose vectors have any length. */
static void
test_ring(void)
{
	struct stream_order t = { .most = 4, .carrier = "--mode test" };

	ok(is_same_text(check_hello(&t, "{\"elements\":2,\"ring\":true}"),
	    "hello with \"ring\", which --mode test does not support; use "
	    "--program iswitch"), "a mode without rings refuses one");
	t.can_ring = true;
	ok(is_same_text(check_hello(&t, "{\"elements\":2,\"ring\":true,"
	    "\"state\":true}"), "hello with both \"ring\" and \"state\""),
	    "a ring with a state is refused");
	ok(is_same_text(check_hello(&t, "{\"elements\":2,\"nonfinite\":true}"),
	    "hello with \"nonfinite\" but without \"ring\""),
	    "values that are not finite need a ring");
	ok(check_hello(&t, "{\"elements\":2,\"ring\":true}") == NULL &&
	    t.ring && check_vector(&t, STREAM_WEIGHTS, 0) == NULL,
	    "the weights of a ring may be empty");
	ok(check_vector(&t, STREAM_GRADIENT, 1) == NULL &&
	    check_vector(&t, STREAM_GRADIENT, 3) == NULL &&
	    is_same_text(check_vector(&t, STREAM_GRADIENT, 0),
	    "a gradient without elements"),
	    "gradients in a ring have any length but 0");
	ok(check_vector(&t, STREAM_GRADIENT, 4) != NULL,
	    "an infinite value in a ring is reported");
	t = (struct stream_order){ .most = 4, .can_ring = true };
	ok(check_hello(&t, "{\"elements\":2,\"ring\":true,"
	    "\"nonfinite\":true}") == NULL &&
	    check_vector(&t, STREAM_WEIGHTS, 4) != NULL &&
	    check_vector(&t, STREAM_WEIGHTS, 3) == NULL &&
	    check_vector(&t, STREAM_GRADIENT, 4) == NULL,
	    "an infinite value passes if the hello says so");
}

int
main(void)
{
	struct stream_order t = { .most = 4, .carrier = "--mode test" };

	ok(is_same_text(stream_order_missing(&t), "hello"),
	    "a process must send a hello first");
	ok(is_same_text(
	       check_vector(&t, STREAM_WEIGHTS, 3),
	       "a message before the hello"),
	    "no other message may come before the hello");
	ok(is_same_text(check_hello(&t, "{}"),
	    "hello without a valid number of elements"),
	    "a hello without a length is refused");
	ok(is_same_text(check_hello(&t, "{\"elements\":0}"),
	    "hello without a valid number of elements"),
	    "a hello with length 0 is refused");
	ok(is_same_text(check_hello(&t, "{\"elements\":1.5}"),
	    "hello without a valid number of elements"),
	    "a hello with length 1.5 is refused");
	ok(is_same_text(check_hello(&t, "{\"elements\":3"),
	    "hello without a valid number of elements"),
	    "a hello that is not JSON is refused");
	ok(is_same_text(check_hello(&t, "{\"elements\":3,\"version\":2}"),
	    "hello with a version other than 1"),
	    "a hello of another version is refused");
	ok(is_same_text(check_hello(&t, "{\"elements\":5}"),
	       "hello with more than the 4 "
	       "elements that --mode test can carry"),
	    "a vector longer than the mode allows is refused");
	ok(t.elements == 0 && !t.hello, "none of these hellos is accepted");
	ok(check_hello(&t, "{\"version\":1,\"elements\":3}") == NULL &&
	    t.elements == 3, "a valid hello is accepted");
	ok(is_same_text(
	       check_hello(&t, "{\"elements\":3}"), "a second hello"),
	    "a second hello is refused");
	ok(is_same_text(stream_order_missing(&t), "weights"),
	    "a process must send weights next");
	ok(is_same_text(check_vector(&t, STREAM_GRADIENT, 3),
	       "a gradient before the weights"),
	    "a gradient before the weights is refused");
	ok(is_same_text(check_vector(&t, STREAM_WEIGHTS, 2),
	    "a vector with another length than the hello has"),
	    "weights of another length are refused");
	ok(check_vector(&t, STREAM_WEIGHTS, 3) == NULL &&
		stream_order_missing(&t) == NULL,
	    "weights are accepted");
	ok(is_same_text(check_vector(&t, STREAM_WEIGHTS, 3),
	       "a second message with weights"),
	    "second weights are refused");
	ok(check_vector(&t, STREAM_GRADIENT, 3) == NULL &&
		check_vector(&t, STREAM_GRADIENT, 3) == NULL,
	    "gradients are accepted again and again");
	ok(is_same_text(check_vector(&t, STREAM_RESULT, 3),
	    "a result, which the training side must not send"),
	    "a result from a process is refused");
	ok(check_vector(&t, STREAM_BYE, 0) == NULL, "a bye is always accepted");
	t = (struct stream_order){ .most = 4, .hello = true, .elements = 4 };
	ok(is_same_text(check_vector(&t, STREAM_WEIGHTS, 4),
	       "a value that is not finite; does training diverge because of "
	       "its learning rate, or --maximize?") &&
		!t.weights,
	    "an infinite value is reported");
	test_ring();
	return tap_end();
}
