# Tests of innet_per.so inside redis-server. Each test is a check of
# memory_module.py, or of memory_per.py, which also tests innet-memory.
load common
load memory

# per CHECK... runs checks of memory_per.py, and inside CHECK [RUNS] a check of
# memory_module.py.
per() {
	setup_module
	for check; do
		# shellcheck disable=SC2086	# with its runs
		"$py" -B "$tests/twins/memory_per.py" $check
	done
}
inside() {
	setup_module
	"$py" -B "$tests/twins/memory_module.py" "$@"
}

@test "inside Redis: limits, and clients that wait for them" {
	per limits 'freed 2' inserts turns most
}

@test "inside Redis: priorities, pages, draws, weights, sums" {
	per updates 'pages 2' "model $(few 10)" strata binary worn extremes rescale sums
}

@test "inside Redis: what wears out, frames, memory at its limit, any words" {
	per times 'frames 3' shared room 'nonsense 500'
	"$py" -B "$tests/twins/memory_keys.py" streams
}

@test "the same requests with the same seed: innet-memory's answers, to the byte" {
	inside answers
}

@test "RDB and kill -9: all is there, and ids go on" {
	inside rdb
}

@test "an append-only file and kill -9, rewritten and not: all is there" {
	inside aof
}

@test "a replica attached before and one after are the same as the master" {
	inside replicas
}

@test "a table that is removed, and clients that wait for it; COPY, DUMP, memory, damage" {
	inside keys
}

@test "a user that may only sample" {
	inside acl
}

@test "over TLS" {
	command -v openssl >/dev/null || skip "no openssl"
	inside tls
}

@test "three masters, and a slot that moves while others add and sample" {
	inside cluster "$(few 20)"
}

@test "the module names the function of the interface that a server lacks" {
	setup_module
	cat >old.c <<-'C'
	#include <dlfcn.h>
	#include <stdio.h>
	#include <string.h>
	static int get(const char *name, void *to)
	{ (void)to; return strcmp(name, "RedisModule_TryAlloc") == 0; }
	int main(int n, char **v)
	{ void *so = dlopen(v[1], RTLD_NOW); struct { void *get; } c = { (void *)get };
	  int (*load)(void *, void *, int) = so ? (int (*)(void *, void *, int))dlsym(so, "RedisModule_OnLoad") : 0;
	  if (so == NULL) puts(dlerror());
	  return load == 0 ? 9 : load(&c, 0, 0) + n - 2; }
	C
	$COMPILE -w -o old old.c -ldl
	run -1 ./old "$MEMORY_MODULE"
	[[ $output == *"this server has no RedisModule_TryAlloc"* ]]
}

@test "innet-agent's actors and learner through three masters" {
	inside agents
}

@test "innet-agent's actors and learner, and a slot that is on its way" {
	inside asks
}

@test "innet-agent's actors and learner, and a master that is killed: its replica takes over" {
	inside failover
}

@test "innet-agent's actors and learner, and a killed master that no replica replaces" {
	inside leaderless
}
