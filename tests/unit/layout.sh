# Each header compiles alone, twice over, and defines nothing with linkage; a
# folder includes only from those before it in common/README, and the four
# systems never from one another; a clock or a socket is in live/ alone; no file
# is over 600 lines, but for a module of Python that is one file so that it can be
# copied, and no line of C over 80 columns; and no test has a bare !.
cd "$srcdir" || exit 1
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
i=0 bad=
say() {
	i=$((i + 1))
	# shellcheck disable=SC2086	# words
	[ -z "$bad" ] && echo "ok $i - $1" || echo "not ok $i - $1:" $bad
	bad=
}
folders=$(sed -n 's|^\([a-z]*\)/ .*|\1|p' common/README)
headers=$(find common -name '*.h' | sort)

# The processor's intrinsics are nine tenths of what a compiler reads here: they
# are read once for all.
echo '#include <immintrin.h>' >"$t/intrinsics.h"
$COMPILE -I. -Werror -Wno-unused-function -x c-header "$t/intrinsics.h" \
	-o "$t/intrinsics.h.gch" || bad=intrinsics.h
for h in $headers; do
	printf '#include "%s"\n#include "%s"\nextern int x;\n' "$h" "$h" >"$t/h.c"
	$COMPILE -I. -Werror -Wno-unused-function -include "$t/intrinsics.h" \
		-fsyntax-only "$t/h.c" || bad="$bad $h"
	printf '#include "%s"\n' "$h" >>"$t/all.c"
done
$COMPILE -I. -Werror -Wno-unused-function -c -o "$t/all.o" "$t/all.c" &&
	bad="$bad $(nm -g --defined-only "$t/all.o")" || bad="$bad all"
bad=${bad# }
say "each header stands alone and exports no symbol"

[ "$(echo "$folders" | sort)" = "$(find common -mindepth 1 -maxdepth 1 -type d | sed 's|.*/||' | sort)" ] ||
	bad="have $(find common -mindepth 1 -maxdepth 1)"
say "common/README names each folder once"

# FILE FOLDER: which folder may it include?
may() {
	case $2 in
	olaf | iswitch | dlp | replay)
		echo "base wire capture traffic program $2" ;;
	*)
		for k in $folders; do
			echo "$k"
			[ "$k" != "$2" ] || break
		done ;;
	esac
}
for d in $folders; do
	allowed=" $(may - "$d" | tr '\n' ' ')"
	for h in common/"$d"/*.h; do
		for inc in $(sed -n 's|^#include "common/\([^/"]*\)/.*|\1|p' "$h" | sort -u); do
			case $allowed in *" $inc "*) ;; *) bad="$bad $h:$inc" ;; esac
		done
	done
done
say "each folder includes only from those before it"

bad=$(find cmd -name '*.[ch]' | xargs awk -F'"' '
/^#include "/ && $2 !~ /^common\/|^config\.h$/ {
	split(FILENAME, of, "/")
	if (index($2, of[1] "/" of[2] "/") != 1) print FILENAME ":" $2
}')
say "a tool includes from common/ and its own folder"

bad=$(grep -lE '\b(clock_gettime|clock_nanosleep|gettimeofday|time\(NULL|socket|recvmsg|sendmsg|poll)\(' \
	$(echo "$headers" | grep -vE '^common/(net/|base/file-open\.h)'))
say "a clock or a socket is in live/ alone, and the wait for a pipe in file-open.h"

bad=$(grep -lE '\b(clock_gettime|gettimeofday)\(|\btime\(NULL' $headers $(find cmd -name '*.c' -o -name '*.h') |
	grep -vx 'common/net/timer\.h')
say "one header reads the clocks"

bad=$(find common cmd tests share -name data -prune -o -name corpus -prune -o -name results -prune -o -name innet_replay.py -o \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.bats' -o -name '*.bash' \) -print |
	xargs wc -l | awk '$1 > 600 && $2 != "total" { print $2 }')
say "no file is over 600 lines"

bad=$(find common cmd tests -name '*.[ch]' | xargs awk -F'\t' '
{ for (i = n = 0; ++i < NF;) n += length($i) + 8 - (n + length($i)) % 8
  if (n + length($NF) > 80) print FILENAME ":" FNR }')
say "no line of C is over 80 columns"

bad=$(grep -nE '^\s*! ' tests/bats/*.bats | grep -v '||' | cut -d: -f1,2)
say "no test has a bare !, which would not fail it"
echo "1..$i"
