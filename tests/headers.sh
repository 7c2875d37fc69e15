# Every header compiles alone, twice over, defines nothing with linkage, and
# includes only from floors below its own, or what stands before it on its own.
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
set -- $FLOOR1 $FLOOR2 $FLOOR3 $FLOOR4
echo "1..$(( $# * 3 ))"
i=0
say() { i=$((i + 1)); [ "$1" -eq 0 ] && echo "ok $i - $2" || echo "not ok $i - $2"; }
below=
for floor in "$FLOOR1" "$FLOOR2" "$FLOOR3" "$FLOOR4"; do
	for h in $floor; do
		printf '#include "%s"\n#include "%s"\nextern int x;\n' "$h" "$h" >"$t/h.c"
		$COMPILE -I"$srcdir" -Werror -Wno-unused-function -c -o "$t/h.o" "$t/h.c"
		say $? "$h stands alone"
		[ -z "$(nm -g --defined-only "$t/h.o")" ]; say $? "$h exports no symbol"
		bad=
		for inc in $(sed -n 's/^#include "\(.*\)".*/\1/p' "$srcdir/$h"); do
			case " $below " in *" $inc "*) ;; *) bad="$bad $inc" ;; esac
		done
		[ -z "$bad" ]; say $? "$h includes only from below${bad:+, but:$bad}"
		below="$below $h"
	done
done
