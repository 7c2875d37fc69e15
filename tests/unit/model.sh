# Let Spin search the small cases of the model of a job (tests/model/).
command -v spin >/dev/null || {
	echo "1..0 # SKIP no spin (Debian package spin)"
	exit 0
}
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
sh "$srcdir/tests/model/run" small >"$t/rows" 2>&1
status=$?
n=0
while read -r word rest; do
	case $word in
	ok | WRONG)
		n=$((n + 1))
		[ "$word" = ok ] && how=ok || how="not ok"
		echo "$how $n - the model: $rest" ;;
	*) echo "# $word $rest" ;;
	esac
done <"$t/rows"
n=$((n + 1))
[ $status -eq 0 ] && [ $n -gt 1 ] && how=ok || how="not ok"
echo "$how $n - every small case of the model was searched"
echo "1..$n"
