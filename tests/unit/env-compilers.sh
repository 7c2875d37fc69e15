# Build the environments with every installed compiler, at -O0, -O2 and -O3, for
# a processor with and without fused multiply-add.  Each build must give
# Gymnasium's figures.  The lander has our own physics, so it must give the same
# figures each time.  The test uses the flags of the build, which must be
# sufficient.
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
: >"$t/config.h"
n=0
digest=				# that of the lander from the first compiler
agent=$srcdir/cmd/innet-agent
say() {				# print "ok" or "not ok" from the last status
	[ $? -eq 0 ] && how=ok || how="not ok"
	n=$((n + 1))
	echo "$how $n - $*"
}

takes() {			# does the compiler accept its flags ($1: both)?
	$1 -x c -c -o "$t/o" "$t/config.h" 2>"$t/err"
}

needed="-ffp-contract=off -fno-tree-slp-vectorize -fno-builtin-pow"
for f in $needed; do
	if ! takes "$COMPILE -Werror $f"; then
		say "$f # SKIP this compiler lacks it"
		continue
	fi
	case " $ENV_FLAGS " in *" $f "*) ;; *) false ;; esac
	say "the build has $f for environments"
done
flags=
for f in $ENV_FLAGS; do
	case " $needed " in *" $f "*) flags="$flags $f" ;; esac
done

lacks() {			# is this processor too old for $1?
	case $1 in *v3*) ! grep -qw avx2 /proc/cpuinfo ;; *) false ;; esac
}
objects() {			# compile $2... with compiler and flags $1
	(cd "$t" && cc=$1 && shift && $cc -std=gnu11 -D_GNU_SOURCE -I. -I"$srcdir" -c "$@")
}
built() {			# build the tests with compiler and flags $1
	(objects "$1" "$agent"/env/*.c \
		"$srcdir/tests/unit/innet-agent/test-envtraps.c" && cd "$t" &&
	for test in envs envrules envtraps lander; do
		$1 -o $test test-$test.o $(ls ./*.o | grep -v /test-) -lm || exit
	done) 2>"$t/err" || { sed 's/^/# /' "$t/err"; return 1; }
}
holds() {			# run the tests, and compare the lander's digest
	for test in envs envrules envtraps; do
		"$t/$test" >"$t/out" || { sed 's/^/# /' "$t/out"; return 1; }
	done
	now=$("$t/lander" 1) || return
	[ "$now" = "${digest:=$now}" ] && return
	echo "# the lander's digest is $now, was $digest"
	return 1
}
for cc in gcc clang; do
	command -v $cc >/dev/null || { echo "# no $cc here"; continue; }
	objects $cc "$srcdir/tests/unit/innet-agent/test-envs.c" "$srcdir/tests/unit/innet-agent/test-envrules.c" \
		"$srcdir/tests/unit/innet-agent/test-lander.c"
	for o in -O0 -O2 -O3 "-O3 -march=x86-64-v3"; do
		what="$cc $o$flags"
		if ! takes "$what"; then
			echo "# $(head -n 1 "$t/err")"
			say "$what # SKIP no such flags"
		elif lacks "$o"; then
			say "$what # SKIP no such processor"
		else
			built "$what" && holds
			say "$what"
		fi
	done
done

# Report which flags are needed today.  None of these results is a failure.
for cc in gcc clang; do
	for f in $flags; do
		without=$(echo "$flags" | sed "s/ $f//")
		$cc -std=gnu11 -O3 -march=x86-64-v3 $without -I"$srcdir" \
			-o "$t/traps" "$srcdir/tests/unit/innet-agent/test-envtraps.c" -lm \
			2>/dev/null || continue
		lacks v3 || "$t/traps" >"$t/out" ||
			echo "# $cc -O3 is wrong without $f"
	done
done
echo "1..$n"
