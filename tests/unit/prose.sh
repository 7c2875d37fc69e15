# Find sentences that a reader probably has to read twice, in comments, test
# titles, the manual and the documents.  A match is a hint and not a verdict, so
# each folder has a budget.  A budget only goes down: a change must not exceed
# it, and a change that gets below it must lower it here.
#
#	sh tests/unit/prose.sh FILE...	show the places in these files
cd "${srcdir:-.}" || exit 1
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT

budgets='
cmd 1
common 0
man 1
share 0
tests 0
top 0
'

cat >"$t/places.awk" <<'E'
# The text of a line that a person reads; "" if it has none.
function text_of(line,    s) {
	if (FILENAME ~ /\.[ch]$/) {
		s = line
		if (!inside) {
			if (!match(s, /\/\*/)) return ""
			s = substr(s, RSTART)
		}
		inside = !match(s, /\*\/[^*]*$/)
		return s
	}
	if (FILENAME ~ /\.(sh|bats|bash|py|ac|am|inc)$/) {
		if (line ~ /^@test "/) return substr(line, 8)
		if (match(line, /(^|[ \t])# /)) return substr(line, RSTART + RLENGTH)
		return ""
	}
	if (line ~ /^(\.\\"|    )/) return ""
	return line
}
function look(why) { print FILENAME ":" FNR ": " why ": " substr(text, 1, 100) }
FNR == 1 { inside = 0 }
{
	text = text_of($0)
	if (text == "") next
	gsub(/^[ \t]+/, "", text)
	s = tolower(text)
	gsub(/[^a-z]+/, " ", s)
	s = " " s " "
	begins = "(^|[.;:] +|/\\*+ *|\\* )"
	if (s ~ / (anew|no more|nobody|whoever|lest|thereof|in vain|of late|hence) /)
		look("an old word")
	else if (text ~ begins "(What|Who|Whose|Whom|Nor) " && text !~ /\?/)
		look("what or who as a subject")
	else if (text ~ begins "Of " && text !~ /Of course/)
		look("begins with Of")
	else if (s ~ / (is|are|was|were) (said|told|heard) /)
		look("name the actor")
	else if (s ~ / for (who|what|whom|whose|they|he) /)
		look("because, or the noun")
	else if (s ~ / (who|whom) (asks|comes|has|is|was|waits|knows|sends|reads|joins|begins|leaves) /)
		look("a program is it")
	else if (s ~ / (in|out of) step /)
		look("synchronous or asynchronous")
	else if (s ~ / so (many|much) /)
		look("name the number")
}
E
if [ $# -gt 0 ]; then
	awk -f "$t/places.awk" "$@"
	exit
fi

files() {
	case $1 in
	top) ls README.md NEWS CONTRIBUTING.md configure.ac Makefile.am ;;
	*) find "$1" \( -name corpus -o -name data -o -name simulation \) -prune -o \
		-type f \( -name '*.[ch1-9]' -o -name '*.sh' -o -name '*.bats' \
		-o -name '*.bash' -o -name '*.py' -o -name '*.inc' -o -name '*.md' \
		-o -name 'README*' \) -print ;;
	esac
}
n=0
while read -r folder budget; do
	[ -n "$folder" ] || continue
	n=$((n + 1))
	files "$folder" | sort | xargs awk -f "$t/places.awk" >"$t/places"
	count=$(wc -l <"$t/places")
	if [ "$count" -le "$budget" ]; then
		echo "ok $n - $folder has at most $budget sentences to look at ($count)"
	else
		echo "not ok $n - $folder has at most $budget sentences to look at ($count)"
		head -n 40 "$t/places" | sed 's/^/# /'
	fi
done <<B
$budgets
B
echo "1..$n"
