/*
 * Fuzz a policy in a file, as innet-agent --eval reads it.  It must be refused,
 * or play within the bounds of its environment.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/policy.h"
#include "cmd/innet-agent/policy-file.h"
#include "tests/fuzz/fuzz.h"

/* Play a few steps with a policy that was loaded. */
static void
play(struct learner *l)
{
	const struct env_kind *kind = l->kind;
	struct env env = env_open(kind, 1);
	float *obs = allocate(kind->obs, sizeof(*obs));
	struct env_result r = { 0 };
	union env_action a;

	env_reset(&env, obs);
	for (int i = 0; i < 3 && !r.terminated; i++) {
		l->algo->greedy(l, l->w, obs, &a);
		a = policy_within(kind, a);
		must(kind->actions == 0 || a.index < kind->actions,
		    "an action that there is");
		for (size_t k = 0; k < kind->dims; k++)
			must(a.x[k] >= kind->low && a.x[k] <= kind->high,
			    "an action within bounds");
		r = env_step(&env, &a, obs);
	}
	env_close(&env);
	free(obs);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const volatile sig_atomic_t never = 0;
	struct tally t = { .stop = &never };
	struct learner l;
	char path[64];
	int fd = memfd_create("policy", MFD_CLOEXEC);

	if (fd == -1 || (len > 0 && write(fd, p, len) != (ssize_t)len))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (policy_file_read(path, 1, &t, &l)) {
		must(l.params * sizeof(float) < len,
		    "no more weights than the file has");
		play(&l);
		learner_close(&l);
	}
	close(fd);
	return 0;
}
