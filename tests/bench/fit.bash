# Shared by the rows of scaling: the exponent of a fit.
#
# shellcheck shell=bash

# Lines of "size cost": the exponent b of the least squares of cost = a size^b.
exponent() {
	awk '$1 > 0 && $2 > 0 {
		x = log($1); y = log($2)
		n++; sx += x; sy += y; sxx += x * x; sxy += x * y
	}
	END {
		d = n * sxx - sx * sx
		if (n < 2 || d == 0)
			exit 1
		printf "%.3f\n", (n * sxy - sx * sy) / d
	}' "$1"
}

# scales ROW FILE UNIT BAR: a comment with the figures, and the row
scales() {
	local b
	b=$(exponent "$2")
	awk -v row="$1" -v unit="$3" '{
		printf "%s%s at %s", NR == 1 ? "# " row ": " : ", ", $2, $1
	} END { printf "; %s\n", unit }' "$2"
	awk -v row="$1" -v b="$b" -v bar="$4" 'BEGIN {
		printf "%s exponent %.3f bar %.2f %s\n", row, b, bar,
		    b <= bar ? "ok" : "short"
	}'
}
