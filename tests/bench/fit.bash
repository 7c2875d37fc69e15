# fit.bash - compute the exponent of a fit, for the scaling benches
#
# shellcheck shell=bash

# Read lines "size cost", and print the exponent b of a least-squares fit of
# cost = a size^b.
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

# scales ROW FILE UNIT BAR: print a line with # and the figures, and the row
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
