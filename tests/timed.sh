# timed.sh - run one test under Automake's TAP driver, and append its time to
# ./test-times: wall-clock time and processor time in seconds, and its name
#
# If FILTER is set, only tests whose title matches this regular expression
# count.  A bats file runs only these tests.  A program runs completely, but
# only the lines of these tests are printed.
#
# TAP_DRIVER in the environment is the command of the driver.  The arguments are
# those of the driver; the command of the test follows after "--".
name=
for a; do
	[ "${last-}" != --test-name ] || name=$a
	last=$a
done

if [ -n "${FILTER-}" ]; then
	n=$# i=0 behind=
	for a; do
		shift
		i=$((i + 1))
		if [ $i -eq $n ] && [ "${a%.bats}" != "$a" ]; then
			set -- "$@" -f "$FILTER" "$a"
		elif [ -n "$behind" ] && [ $i -eq $n ] && [ "${a%.sh}" = "$a" ]; then
			set -- "$@" sh -c '{ "$1"; [ $? -lt 128 ] || echo "Bail out! it crashed"; } |
				awk -v want="$FILTER" '\''
				/^(not )?ok / {
					title = $0
					sub(/^(not )?ok [0-9]* - /, "", title)
					if (title !~ want) next
					sub(/ok [0-9]*/, "ok " ++n)
				}
				/^1\.\./ { next }
				{ print }
				END { print "1.." n + 0 (n ? "" : " # SKIP no title matches") }
				'\' filter "$a"
		else
			set -- "$@" "$a"
		fi
		[ "$a" != -- ] || behind=yes
	done
fi

start=$(date +%s%N)
# shellcheck disable=SC2086	# a command and its arguments
$TAP_DRIVER "$@"
status=$?
end=$(date +%s%N)
# Do not use a pipe here: these would be the times of a subshell.
times >"test-times.$$"
awk -v name="$name" -v ns=$((end - start)) 'NR == 2 {
	for (i = 1; i <= 2; i++) {
		split($i, t, /[ms]/)
		cpu += 60 * t[1] + t[2]
	}
	printf "%.2f %.2f %s\n", ns / 1e9, cpu, name
}' "test-times.$$" >>test-times
rm -f "test-times.$$"
exit $status
