# Check the structure that CONTRIBUTING.md describes: each header compiles alone
# and defines nothing with linkage; a folder includes only from folders before
# it in common/README; files that only one tool includes are in the folder of
# that tool;
# no files of cmd/ or common/ include each other in a circle; a header with one
# includer says why; a long header begins with its interface; files have at most
# 1,200 lines, and lines of C at most 80 columns; no test has a bare `!`.
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

# The headers for intrinsics are nine tenths of the text that a compiler reads
# here, so they are precompiled.
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

# Make lines "FILE INCLUDED" of all our own headers that cmd/ and common/
# include.
find cmd common -name '*.[ch]' | sort | xargs awk -F'"' '
/^#[ \t]*include "/ && $2 != "config.h" { print FILENAME, $2 }' >"$t/includes"

# The interface of programs is in switch/ and includes only folders before
# queue/, so that auth/ and the four systems may include it.
contract='common/switch/outbox.h common/switch/program.h'
bad=$(awk -v folders="$folders" -v contract="$contract" '
BEGIN {
	n = split(folders, f, "\n")
	for (i = 1; i <= n; i++) rank[f[i]] = i
	n = split(contract, c, " ")
	for (i = 1; i <= n; i++) shared[c[i]] = 1
	pure["olaf"] = pure["iswitch"] = pure["dlp"] = pure["replay"] = 1
}
/^common\// {
	split($1, a, "/"); split($2, b, "/")
	from = $1 in shared ? rank["arq"] : rank[a[2]]
	to = $2 in shared ? rank["arq"] - 0.5 : rank[b[2]]
	if (b[1] != "common" || ((a[2] != b[2] || $1 in shared) && to >= from) ||
	    (a[2] != b[2] && a[2] in pure && b[2] in pure)) print $1 ":" $2
}' "$t/includes")
say "each folder includes only from those before it"

# Print every file that a tool includes, directly or not, as "TOOL FILE".
awk '
{ inc[$1] = inc[$1] " " $2; if ($1 ~ /^cmd\//) { split($1, a, "/"); roots[a[2]] = roots[a[2]] " " $1 } }
function go(tool, f,    n, i, x) {
	if ((tool, f) in seen) return
	seen[tool, f] = 1
	print tool, f
	n = split(inc[f], x, " ")
	for (i = 1; i <= n; i++) go(tool, x[i])
}
END { for (t in roots) { n = split(roots[t], r, " "); for (i = 1; i <= n; i++) go(t, r[i]) } }
' "$t/includes" >"$t/reached"
bad=$(echo "$headers" | awk 'NR == FNR { tools[$2]++; next } tools[$1] < 2' "$t/reached" -)
say "each header of common/ is reached from two tools or more"

# A file and its header are one module.  Remove modules that no other module
# needs, and modules that need no other, until nothing changes.  Only circles
# remain.
sed 's/\.[ch] / /; s/\.[ch]$//' "$t/includes" | awk '$1 != $2' | sort -u >"$t/modules"
while
	awk 'NR == FNR { out[$1] = 1; in_[$2] = 1; next } $2 in out && $1 in in_' \
		"$t/modules" "$t/modules" >"$t/left"
	! cmp -s "$t/left" "$t/modules"
do
	mv "$t/left" "$t/modules"
done
bad=$(awk '{ print $1 "->" $2 }' "$t/modules")
say "no modules include each other in a circle"

bad=$(awk '$2 ~ /^common\// { n[$2]++ } END { for (h in n) if (n[h] == 1) print h }' "$t/includes" | sort)
[ "$(echo "$bad" | grep -c .)" -gt 10 ] || bad=$(for h in $bad; do
	sed '/\*\//q' "$h" | tr '\n' ' ' | grep -q 'a separate[ *]*file[ *]*because' || echo "$h"
done)
say "at most ten headers of common/ have one includer, and each says why"

bad=$(find common cmd -name '*.h' | while read -r h; do
	[ "$(wc -l <"$h")" -le 200 ] || ! grep -q '^{' "$h" ||
		grep -qx '/\* implementation \*/' "$h" || echo "$h"
done)
say "a header of more than 200 lines with functions begins with its interface"

bad=$(find cmd -name '*.[ch]' | xargs awk -F'"' '
/^#include "/ && $2 !~ /^common\/|^config\.h$/ {
	split(FILENAME, of, "/")
	if (index($2, of[1] "/" of[2] "/") != 1) print FILENAME ":" $2
}')
say "a tool includes from common/ and its own folder"

bad=$(grep -lE '\b(clock_gettime|clock_nanosleep|gettimeofday|time\(NULL|socket|recvmsg|sendmsg|poll)\(' \
	$(echo "$headers" | grep -vE '^common/(net/|base/file-open\.h)'))
say "a clock or a socket is in net/ alone, and the wait for a pipe in file-open.h"

bad=$(grep -lE '\b(clock_gettime|gettimeofday)\(|\btime\(NULL' $headers $(find cmd -name '*.c' -o -name '*.h') |
	grep -vx 'common/net/timer\.h')
say "one header reads the clocks"

bad=$(find common cmd tests share -name data -prune -o -name corpus -prune -o -name results -prune -o -name innet_replay.py -o \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.bats' -o -name '*.bash' \) -print |
	xargs wc -l | awk '$1 > 1200 && $2 != "total" { print $2 }')
say "no file is over 1,200 lines"

bad=$(find common cmd tests -name '*.[ch]' | xargs awk -F'\t' '
{ for (i = n = 0; ++i < NF;) n += length($i) + 8 - (n + length($i)) % 8
  if (n + length($NF) > 80) print FILENAME ":" FNR }')
say "no line of C is over 80 columns"

bad=$(grep -nE '^\s*! ' tests/bats/*.bats | grep -v '||' | cut -d: -f1,2)
say "no test has a bare !, which would not fail it"
echo "1..$i"
