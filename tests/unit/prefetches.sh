# A compiler can decide that a function that only prefetches has no effect, and
# remove its calls (common/base/prefetch.h).  Check that the object code has as
# many prefetch instructions as it must have, and that this test would notice a
# lost one.
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
i=0
say() { i=$((i + 1)); [ "$1" -eq 0 ] && echo "ok $i - $2" || echo "not ok $i - $2"; }

flags="-std=gnu11 -D_GNU_SOURCE -O2"

# Compile FILE with CC -O2, and count the prefetch instructions.
count() {
	# shellcheck disable=SC2086
	"$1" $flags -I. -I"$srcdir" -c -o "$t/o" "$2" 2>"$t/err" ||
		sed 's/^/# /' "$t/err" >&2
	objdump -d "$t/o" | grep -c prefetch
}
case $(uname -m) in
x86_64) ;;
*) echo "1..0 # SKIP instructions of x86-64"; exit ;;
esac
command -v objdump >/dev/null || { echo "1..0 # SKIP no objdump"; exit; }

for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	while read -r least source; do
		n=$(count $cc "$srcdir/$source")
		[ "$n" -ge "$least" ]
		say $? "$cc: $source has $n prefetches, at least $least"
	done <<-LIST
		19 cmd/innet-sim/nodes/event-prefetch.c
		6 cmd/innet-switch/offline.c
		2 cmd/innet-gen/workers.c
		16 cmd/innet-memory/store/table.c
		21 cmd/innet-memory/commands/per-add.c
		25 cmd/innet-memory/commands/per-sample.c
	LIST
done
if command -v gcc >/dev/null; then
	# shellcheck disable=SC2086
	gcc $flags -I. -I"$srcdir" -E -P "$srcdir/cmd/innet-sim/nodes/event-prefetch.c" |
		grep -v 'volatile ("");' >"$t/without.c"
	n=$(count gcc "$t/without.c")
	[ "$n" -lt 19 ]; say $? "gcc: without the asm statement there are $n"
fi
echo "1..$i"
