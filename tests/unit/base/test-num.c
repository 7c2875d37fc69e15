#include <inttypes.h>
#include <string.h>

#include "common/base/num.h"
#include "tests/unit/tap.h"

typedef const char *reader(const char *, uint64_t, uint64_t, uint64_t *);

static void
check_value(reader *f, const char *s, uint64_t want)
{
	uint64_t v = 77;
	const char *why = f(s, 0, UINT64_MAX, &v);

	if (!ok(why == NULL && v == want, "'%s' is %" PRIu64, s, want))
		note("%s, %" PRIu64, why == NULL ? "taken" : why, v);
}

static void
check_error(
    reader *f, const char *s, uint64_t lo, uint64_t hi, const char *want)
{
	uint64_t v = 77;
	const char *why = f(s, lo, hi, &v);

	if (!ok(why != NULL && strcmp(why, want) == 0 && v == 77,
	    "'%.30s' is refused: %s", s, want))
		note("%s", why == NULL ? "taken" : why);
}

int
main(void)
{
	double x = 77;
	uint64_t t;
	bool rel = false;

	check_value(num_u64, "0", 0);
	check_value(num_u64, "18446744073709551615", UINT64_MAX);
	check_value(num_u64, "10k", 10000);
	check_value(num_u64, "1Mi", 1048576);
	check_value(num_rate, "40G", 40000000000);
	check_value(num_rate, "20Mbit", 20000000);
	check_value(num_rate, "0.5Mbit", 500000);
	check_value(num_bytes, "1kB", 1000);
	check_value(num_vector, "10005", 10005);
	check_value(num_vector, "10k", 10000);
	check_value(num_vector, "40.02kB", 10005);
	check_value(num_vector, "4KiB", 1024);
	check_value(num_vector, "ddpg", 39380);
	check_value(num_vector, "dqn", 1602500);
	check_error(num_vector, "6B", 0, 9,
	    "not a multiple of 4 bytes, the size of an element");
	check_error(num_vector, "44B", 0, 10, "too large");
	check_error(num_vector, "ppo", 0, 10004, "too large");
	check_error(num_vector, "0", 1, 9, "too small");
	check_error(num_vector, "gpt", 0, 9,
	    "not a size (40kB), a number of elements, dqn, a2c, ppo or ddpg");
	check_error(num_vector, "", 0, 9,
	    "not a size (40kB), a number of elements, dqn, a2c, ppo or ddpg");
	check_value(num_bytes, "9036B", 9036);
	check_value(num_bytes, "40.02kB", 40020);
	check_value(num_bytes, "4KiB", 4096);
	check_value(num_time, "100ms", 100000000);
	check_value(num_time, "4us", 4000);
	check_value(num_time, "1.5us", 1500);
	check_value(num_time, "0.4ns", 0);
	check_value(num_time, "0.5ns", 1);
	check_value(num_time, "12", 12);
	check_value(num_time, "2min", 120000000000);
	check_error(
	    num_u64, "18446744073709551616", 0, UINT64_MAX, "too large");
	check_error(num_u64, "99999999999999999999999999999999999999999", 0,
	    UINT64_MAX, "too large");
	check_error(num_u64, "-1", 0, 9, "not a number");
	check_error(num_u64, " 1", 0, 9, "not a number");
	check_error(num_u64, "", 0, 9, "not a number");
	check_error(num_u64, "1.", 0, 9, "not a number");
	check_error(num_u64, "0x10", 0, 99,
	    "unknown unit; use k, M, G, T, Ki, Mi or Gi");
	check_error(num_u64, "10", 0, 9, "too large");
	check_error(num_u64, "0", 1, 9, "too small");
	check_error(num_rate, "10x", 0, 99,
	    "unknown unit; use bit, kbit, Mbit or Gbit");
	check_error(num_rate, "10GB", 0, UINT64_MAX,
	    "unknown unit; use bit, kbit, Mbit or Gbit");
	check_error(num_time, "10 ms", 0, UINT64_MAX,
	    "unknown unit; use ns, us, ms, s, min or h");
	check_error(num_time, "20000000h", 0, UINT64_MAX, "too large");
	ok(num_share("10%", &x) == NULL && x == 0.1, "10%% is a tenth");
	ok(num_share("0.25", &x) == NULL && x == 0.25, "0.25 is a quarter");
	ok(num_share("101%", &x) != NULL && x == 0.25, "101%% is refused");
	ok(num_real("nan", 0, 1, &x) != NULL, "nan is refused");
	ok(num_real("-1e-3", -1, 1, &x) == NULL && x == -1e-3,
	    "-1e-3 is accepted");
	ok(num_instant("+2s", &t, &rel) == NULL && rel && t == 2000000000,
	    "+2s is a relative time");
	ok(num_instant("7", &t, &rel) == NULL && !rel && t == 7,
	    "7 is a point in time");
	return tap_end();
}
