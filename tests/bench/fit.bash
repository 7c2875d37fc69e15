# fit.bash - compute the exponent of a fit, for the scaling benches
#
# Source rounds.bash before this file.
#
# shellcheck shell=bash disable=SC2154

# scales ROW PREFIX UNIT BAR SIZE...: print a line with # and the figures, and
# the row
#
# The file PREFIX.SIZE has the costs of a size, one line a round.  The row has
# the exponent b of a least-squares fit of cost = a size^b: the median, the least
# and the most of the rounds.  Without a BAR, the exponent is in a line with # too.
scales() {
	local row=$1 prefix=$2 unit=$3 bar=$4 files
	shift 4
	files=("${@/#/$prefix.}")
	awk -v row="$row" -v prefix="$prefix" -v unit="$unit" -v bar="$bar" -v sizes="$*" \
		-v others="$(others "${files[@]}")" "$statistics"'
	# add a point to the fit
	function add(size, cost,    x, y) {
		if (size <= 0 || cost <= 0)
			return
		x = log(size); y = log(cost)
		k++; sx += x; sy += y; sxx += x * x; sxy += x * y
	}
	# return the exponent of the points, and remove them
	function exponent(    d, b) {
		d = k * sxx - sx * sx
		if (k < 2 || d == 0) {
			printf "%s: too few points for a fit\n", row >"/dev/stderr"
			exit 1
		}
		b = (k * sxy - sx * sy) / d
		k = sx = sy = sxx = sxy = 0
		return b
	}
	BEGIN {
		n = split(sizes, size, " ")
		most = 0
		for (s = 1; s <= n; s++) {
			split("", v)
			m = load(prefix "." size[s], v)
			for (i = 1; i <= m; i++)
				cost[s, i] = v[i]
			if (m > most)
				most = m
			sort(v, m)
			line = line (s == 1 ? "# " row ": " : ", ") \
				show(median(v, m)) range(v, m) " at " size[s]
		}
		print line "; " unit
		for (i = 1; i <= most; i++) {
			for (s = 1; s <= n; s++)
				add(size[s], cost[s, i])
			each[i] = exponent()
		}
		sort(each, most)
		b = median(each, most)
		around = most < 2 ? "" : sprintf(" (%.3f to %.3f)", each[1], each[most])
		if (bar == "")
			printf "# %s: exponent %.3f%s\n", row, b, around
		else
			printf "%s exponent %.3f%s bar %.2f %s%s\n", row, b, around, bar,
			    b <= bar ? "ok" : "short", others
	}'
}
