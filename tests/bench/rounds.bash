# rounds.bash - run a bench in rounds, and print its rows
#
# A bench repeats its measurements in $runs interleaved rounds (ROUNDS, 5):
# each round measures innet and the peer once, one after the other.  take()
# appends the result of a measurement to a file, one line a round, and row()
# prints medians and spreads of such files:
#
#	P3 olaf-filter innet 0.164 (0.158 to 0.171) s peer 0.293 (0.290 to
#	0.301) s ratio 0.560 (0.54 to 0.58) bar 0.500 short
#
# (on one line).  The ratio is that of the medians; its spread is that of the
# ratios in each round.  If other processes, or other guests of the same host,
# used more than a tenth of a processor during the measurements of a row, the
# row ends in "; others used 0.6 processors".
#
# Source this file before the bench starts a process.
#
# shellcheck shell=bash disable=SC2034

# Each process of the bench has this variable in its environment, so that
# note_use() can distinguish its processes from others.
if [ -z "${INNET_BENCH-}" ]; then
	INNET_BENCH=$$ exec bash "$0" "$@"
fi

runs=${ROUNDS:-5}

# note_use: set $noted to three numbers of seconds: the processor time that all
# processes (and other guests) have used, the part that this bench has used, and
# the time of day.
#
# A process belongs to the bench if its environment says so, or if its parent
# belongs to the bench (redis-server overwrites its environment).  The times of
# a process that ended are in those of its parent.  Threads of the kernel count
# as processes of the bench, because most of their work is for the bench.
note_use() {
	local marked now=$EPOCHREALTIME
	: "${noted_hz:=$(getconf CLK_TCK)}"
	marked=$(grep -lsz "^INNET_BENCH=$INNET_BENCH\$" /proc/[0-9]*/environ || :)
	noted=$( (cat /proc/stat /proc/[0-9]*/stat 2>/dev/null || :) |
		awk -v marked="$marked" -v hz="$noted_hz" -v now="${now/,/.}" '
		BEGIN {
			n = split(marked, path, "\n")
			for (i = 1; i <= n; i++) {
				split(path[i], part, "/")
				ours[part[3]] = 1
			}
		}
		/^cpu / { all = $2 + $3 + $4 + $9 }
		/^[0-9]+ \(/ {
			pid = $1
			sub(/.*\) /, "")
			parent[pid] = $2
			spent[pid] = $12 + $13 + $14 + $15
			if (int($7 / 2097152) % 2)	# PF_KTHREAD
				ours[pid] = 1
		}
		END {
			do {
				more = 0
				for (pid in parent) {
					if (!(pid in ours) && parent[pid] in ours)
						more = ours[pid] = 1
				}
			} while (more)
			for (pid in parent) {
				if (pid in ours)
					own += spent[pid]
			}
			printf "%.2f %.2f %s\n", all / hz, own / hz, now
		}')
}

# begin: note the time before a measurement.
# end FILE...: note in FILE.others how much others used the processors since
# then.  Each FILE has a result of this measurement.
begin() {
	note_use
	noted_before=$noted
}
end() {
	local file
	note_use
	for file; do
		echo "$noted_before $noted" >>"$file.others"
	done
}

# take FILE COMMAND...: measure; append the output of the command to the file
take() {
	local file=$1
	shift
	begin
	"$@" >>"$file"
	end "$file"
}

# others FILE...: print "; others used N processors" if others used more than a
# tenth of a processor during the measurements in these files
others() {
	local file all=()
	for file; do
		[ ! -e "$file.others" ] || all+=("$file.others")
	done
	[ ${#all[@]} -gt 0 ] || return 0
	awk '{
		used += $4 - $1 - $5 + $2
		seconds += $6 - $3
	} END {
		if (used > 0.05 && used > 0.1 * seconds)
			printf "; others used %.1f processors", used / seconds
	}' "${all[@]}"
}

# functions of awk that sort and print values
statistics='
	function sort(v, n,    i, j, x) {
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (j = i - 1; j > 0 && v[j] > x; j--)
				v[j + 1] = v[j]
			v[j + 1] = x
		}
	}
	# read the numbers of a file, or take a number
	function load(from, v,    n, x) {
		if (from ~ /^[-+]?[0-9.]+(e[-+]?[0-9]+)?$/) {
			v[1] = from + 0
			return 1
		}
		while ((getline x <from) > 0)
			v[++n] = x + 0
		close(from)
		return n + 0
	}
	function show(x,    size) {
		size = x < 0 ? -x : x
		return sprintf(size >= 100 || size == 0 ? "%.0f" : size >= 10 ? "%.1f" : \
			size >= 1 ? "%.2f" : size >= 0.1 ? "%.3f" : "%.4f", x)
	}
	function median(v, n) { return v[int((n + 1) / 2)] }
	# the least and the most of sorted values
	function range(v, n) {
		return n < 2 ? "" : " (" show(v[1]) " to " show(v[n]) ")"
	}
'

# median FILE: print the median of the numbers in a file
median() {
	awk -v from="$1" "$statistics"'BEGIN { n = load(from, v); sort(v, n); print median(v, n) }'
}

# spread FILE: print the median of the numbers in a file, the least and the most
spread() {
	awk -v from="$1" "$statistics"'BEGIN {
		n = load(from, v)
		sort(v, n)
		print show(median(v, n)) range(v, n)
	}'
}

# least FILE...: print the name of the file with the least median
least() {
	local file
	for file; do
		echo "$(median "$file") $file"
	done | sort -g | sed -n '1s/^[^ ]* //p'
}

# derive FILE NEW EXPRESSION: write the value of an expression of awk for each
# line of a file to a new file
derive() {
	awk "{ print $3 }" "$1" >"$2"
	[ ! -e "$1.others" ] || cp "$1.others" "$2.others"
}

# ratio FILE FILE: print the ratio of their medians and its spread
ratio() { row '' '' "$1" "$2" ''; }

# row NAME UNIT INNET PEER BAR [high|inverse|wrong]: print a row.
#
# INNET and PEER are files of take(), or numbers.  The ratio of INNET and PEER
# must be at most BAR.  With "high", it must be at least BAR; with "inverse", the
# ratio of PEER and INNET must be at most BAR.  With "wrong", innet had a wrong
# result, so the row is short.  If BAR is empty, the row has none.
row() {
	awk -v name="$1" -v unit="$2" -v innet="$3" -v peer="$4" -v bar="$5" -v way="${6-low}" \
		-v others="$(others "$3" "$4")" "$statistics"'BEGIN {
		n = load(innet, a)
		m = load(peer, b)
		if (n == 0 || m == 0) {
			printf "%s: a measurement has no result\n", name >"/dev/stderr"
			exit 1
		}
		pairs = n == m || m == 1 ? n : n == 1 ? m : 0
		for (i = 1; i <= pairs; i++) {
			x = n == 1 ? a[1] : a[i]
			y = m == 1 ? b[1] : b[i]
			if (way == "inverse") { t = x; x = y; y = t }
			r[i] = y ? x / y : 0
		}
		sort(a, n)
		sort(b, m)
		sort(r, pairs)
		x = median(a, n)
		y = median(b, m)
		if (way == "inverse") { t = x; x = y; y = t }
		x = y ? x / y : 0
		if (name == "") {
			print show(x) range(r, pairs)
			exit
		}
		verdict = ""
		if (bar != "")
			verdict = sprintf(" bar %s %s", show(bar), way != "wrong" && \
			    (way == "high" ? x >= bar + 0 : x <= bar + 0) ? "ok" : "short")
		printf "%s innet %s%s %s peer %s%s %s ratio %s%s%s%s\n", name,
		    show(median(a, n)), range(a, n), unit,
		    show(median(b, m)), range(b, m), unit, show(x), range(r, pairs),
		    verdict, others
	}'
}

# await FILE [TEXT]: wait until the file has content, or contains this text, for
# at most 10 s
await() {
	local i
	for ((i = 0; i < 500; i++)); do
		if [ -s "$1" ] && { [ -z "${2-}" ] || grep -q -e "$2" "$1"; }; then
			return 0
		fi
		sleep 0.02
	done
	echo "nothing in $1 after 10 s" >&2
	return 1
}
