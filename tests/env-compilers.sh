# The environments give Gymnasium's figures with every compiler at hand, at
# every -O, for the plain processor and for one with fused multiply-add.
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
: >"$t/config.h"
n=0
lacks() {			# true if this processor is too old for $1
	case $1 in *v3*) ! grep -qw avx2 /proc/cpuinfo ;; *) false ;; esac
}
for cc in gcc clang; do
	command -v $cc >/dev/null || { echo "# no $cc here"; continue; }
	for o in 0 1 2 3; do
		for more in "$ENV_FLAGS" "-march=x86-64-v3 $ENV_FLAGS"; do
			n=$((n + 1))
			what="$cc -O$o $more"
			set -- $cc -std=gnu11 -O$o $more -I"$t" -I"$srcdir" \
				-o "$t/envs" "$srcdir/tests/test-envs.c" \
				"$srcdir"/cmd/innet-agent/env*.c -lm
			if ! "$@" 2>"$t/err"; then
				echo "# $(head -1 "$t/err")"
				echo "ok $n - $what # SKIP cannot compile this"
			elif lacks "$more"; then
				echo "ok $n - $what # SKIP no such processor"
			elif "$t/envs" >"$t/out"; then
				echo "ok $n - $what"
			else
				sed 's/^/# /' "$t/out"
				echo "not ok $n - $what"
			fi
		done
	done
done
if [ $n -eq 0 ]; then
	echo "1..0 # SKIP neither gcc nor clang"
else
	echo "1..$n"
fi
