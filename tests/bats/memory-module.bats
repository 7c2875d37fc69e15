# Tests of innet_per.so inside redis-server. Each test is a check of
# memory_module.py, or of memory_per.py, which also tests innet-memory.
load common
load memory

# per CHECK... runs checks of memory_per.py, and inside CHECK [RUNS] a check of
# memory_module.py.
per() {
	setup_module
	for check; do
		# shellcheck disable=SC2086	# with the number of runs
		"$py" -B "$tests/twins/memory_per.py" $check
	done
}
inside() {
	setup_module
	"$py" -B "$tests/twins/memory_module.py" "$@"
}

@test "inside Redis: rate limits, and clients that wait for them" {
	per limits 'freed 2' inserts turns most
}

@test "inside Redis: priorities, dumps by page, draws, weights, sums" {
	per updates 'pages 2' "model $(few 10)" strata binary worn extremes rescale sums
}

@test "inside Redis: limited draws, frames, memory at its limit, random requests" {
	per times 'frames 3' shared room 'nonsense 500'
	"$py" -B "$tests/twins/memory_keys.py" streams
}

@test "the same requests with the same seed get the answers of innet-memory, byte for byte" {
	inside answers
}

@test "after RDB and kill -9, all data is there, and ids continue" {
	inside rdb
}

@test "after kill -9, an append-only file has all data, whether rewritten or not" {
	inside aof
}

@test "a replica attached before and one attached after have the same data as the master" {
	inside replicas
}

@test "waiting clients when a table is removed, and COPY, DUMP, memory, damage" {
	inside keys
}

@test "an ACL user that may only sample can only sample" {
	inside acl
}

@test "the client in Python works over TLS" {
	command -v openssl >/dev/null || skip "no openssl"
	inside tls
}

@test "three masters: clients add and sample while a slot moves" {
	inside cluster "$(few 20)"
}

@test "the module names the function of the module interface that a server lacks" {
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

@test "innet-agent's actors and learner use three masters" {
	inside agents
}

@test "innet-agent's actors and learner continue while a slot moves" {
	inside asks
}

@test "innet-agent's actors and learner continue with a replica after its master is killed" {
	inside failover
}

@test "innet-agent's actors and learner end with one line each if no replica replaces a killed master" {
	inside leaderless
}
