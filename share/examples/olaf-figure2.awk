# olaf-figure2.awk - print figure2.csv of olaf-figure2.sh as Markdown tables,
# and compare the modes
#
#	awk -v workers=8 -f olaf-figure2.awk figure2.csv >figure2.md
#
# Setting A is before setting B in a seed if all workers of A reached the goal,
# and A needed fewer iterations than B.  If B did not reach the goal, all its
# iterations count.
BEGIN {
	FS = ","
	modes = split("async aggregated sync", mode, " ")
}

# Skip a run on a busy machine.  Synchronous workers wait for the slowest
# worker, so they reach at most 80 %.
NR > 1 && $10 < 70 {
	left++
	next
}
NR > 1 {
	k = $1 SUBSEP $2 SUBSEP $3 + 0 SUBSEP $4 SUBSEP $5
	n[k]++
	sum[k] += $7; squares[k] += $7 * $7
	there[k] += $8; reward[k] += $9
	took[k, $6] = $7; missing[k, $6] = $8 < workers
	if ($6 > seeds) seeds = $6
	if (!($3 in step) && $1 == "step") {
		step[$3]; steps[++all] = $3 + 0
	}
	if ($2 == "async") { paces++; pace += $10 }
}

function key(set, m, s, d, h) { return set SUBSEP m SUBSEP s + 0 SUBSEP d SUBSEP h }

# Return a cell: the iterations and their deviation over runs, or the number of
# workers that reached the goal if not all did.
function cell(k,    m, v) {
	if (!n[k]) return "-"
	m = sum[k] / n[k]
	if (there[k] < workers * n[k])
		return sprintf("%d of %d (%.0f)", there[k], workers * n[k], reward[k] / n[k])
	v = n[k] > 1 ? (squares[k] - n[k] * m * m) / (n[k] - 1) : 0
	return sprintf("%.0f (%.0f)", m, v > 0 ? sqrt(v) : 0)
}

function whole(k) { return n[k] && there[k] == workers * n[k] }

# Set pairs to the number of seeds that both a and b have, and first to the
# number of these in which a is before b.
function before(a, b,    s) {
	first = pairs = 0
	for (s = 1; s <= seeds; s++)
		if ((a, s) in took && (b, s) in took) {
			pairs++
			first += !missing[a, s] && took[a, s] < took[b, s]
		}
	return pairs ? first " of " pairs : "-"
}

# Return the iterations of a divided by those of b, over the seeds in which all
# workers of both reached the goal.
function by(a, b,    s, x, y) {
	for (s = 1; s <= seeds; s++)
		if ((a, s) in took && (b, s) in took && !missing[a, s] && !missing[b, s]) {
			x += took[a, s]; y += took[b, s]
		}
	return y ? sprintf("%.2f", x / y) : ""
}

# Return the key with the fewest iterations of mode m among the steps at which
# all workers reached the goal, and set at[m] to this step.
function best(m,    i, k, b) {
	b = ""
	for (i = 1; i <= all; i++) {
		k = key("step", m, steps[i], 0, 16)
		if (whole(k) && (b == "" || sum[k] / n[k] < sum[b] / n[b])) {
			b = k; at[m] = steps[i]
		}
	}
	return b
}

function head(what) {
	print "| " what " | async | aggregated | sync | async before sync, seeds |"
	print "|---|---|---|---|---|"
}
function line(what, a, g, s) {
	print "| " what " | " cell(a) " | " cell(g) " | " cell(s) " | " before(a, s) " |"
}
function list(old, x) { return old == "" ? x : old ", " x }

# Return the mean and the deviation for a plot, or empty fields if not all
# workers reached the goal.
function bar(k,    m, v) {
	if (!whole(k)) return ",,"
	m = sum[k] / n[k]
	v = n[k] > 1 ? (squares[k] - n[k] * m * m) / (n[k] - 1) : 0
	return sprintf(",%.1f,%.1f", m, v > 0 ? sqrt(v) : 0)
}

function plotted(    i, j, text) {
	print "step,async,async_sd,aggregated,aggregated_sd,sync,sync_sd" >bars
	for (i = 1; i <= all; i++) {
		text = steps[i]
		for (j = 1; j <= modes; j++) text = text bar(key("step", mode[j], steps[i], 0, 16))
		print text >bars
	}
}

function equal_steps(    i, j, a, s, b, text) {
	print "## The same step size in all modes\n"
	head("step")
	for (i = 1; i <= all; i++) {
		a = key("step", "async", steps[i], 0, 16)
		s = key("step", "sync", steps[i], 0, 16)
		line(steps[i], a, key("step", "aggregated", steps[i], 0, 16), s)
		if (!pairs) continue
		if (first == pairs) holds = list(holds, steps[i])
		else if (first) open = list(open, steps[i])
		else fails = list(fails, steps[i])
	}
	for (j = 1; j <= modes; j++) {
		b = best(mode[j])
		text = text " | " (b == "" ? "-" : cell(b) " at " at[mode[j]])
	}
	print "| fewest" text " | " before(best("async"), best("sync")) " |\n"
	print "In the paper's figure, mode async needs fewer iterations than mode sync."
	if (holds != "") print "Our runs agree with the paper in every seed at these step sizes: " holds "."
	if (open != "") print "Our runs agree with the paper only in some seeds at these step sizes: " open "."
	if (fails != "") print "Our runs agree with the paper in no seed at these step sizes: " fails "."
	print ""
}

# Compare the modes at equal sums: the step of async is an eighth.
function equal_distances(    i, a, s, x, text) {
	print "## The same distance in an iteration: async's step size is an eighth\n"
	print "The distance is the step size in the modes aggregated and sync. In mode async, the step size is an eighth of the distance,"
	print "because this mode makes eight steps in an iteration.\n"
	head("distance")
	for (i = 1; i <= all; i++) {
		a = key("step", "async", steps[i] / workers, 0, 16)
		if (!n[a]) continue
		s = key("step", "sync", steps[i], 0, 16)
		line(steps[i], a, key("step", "aggregated", steps[i], 0, 16), s)
		if ((x = by(a, s)) != "") text = list(text, x " at distance " steps[i])
	}
	if (text != "") print "\nFor the runs in which all workers reached a mean reward of 475, we divide the number of iterations of mode async by that of mode sync. This ratio is " text "."
	print ""
}

function staleness(    d, zero, k, x, text) {
	# the runs without a delay belong to the set "step"
	zero = key("step", "async", 0.05, 0, 16)
	print "## Later gradients: async, step 0.05\n"
	print "| later by, iterations | async | before that without delay, seeds |"
	print "|---|---|---|"
	print "| 0 | " cell(zero) " | |"
	for (d = 1; d <= 16; d *= 4) {
		k = key("delay", "async", 0.05, d, 16)
		if (!n[k]) continue
		print "| " d " | " cell(k) " | " before(k, zero) " |"
		if ((x = by(k, zero)) != "") text = list(text, x " with a delay of " d)
	}
	if (text != "") print "\nFor the runs in which all workers reached a mean reward of 475, we divide the number of iterations by the number without a delay. This ratio is " text "."
	print ""
}

function batches(    h, set, a, s, x, text) {
	print "## Other batches: distance 0.4\n"
	head("steps of a lesson")
	for (h = 4; h <= 64; h *= 4) {
		set = h == 16 ? "step" : "batch"
		a = key(set, "async", 0.05, 0, h)
		if (!n[a]) continue
		s = key(set, "sync", 0.4, 0, h)
		line(8 * h, a, key(set, "aggregated", 0.4, 0, h), s)
		if ((x = by(a, s)) != "") text = list(text, x " with " 8 * h " steps")
	}
	if (text != "") print "\nFor the runs in which all workers reached a mean reward of 475, we divide the number of iterations of mode async by that of mode sync. This ratio is " text "."
	print ""
}

END {
	print "# Olaf's Figure 2: asynchronous workers, and the step size\n"
	print "The script `share/examples/olaf-figure2.sh` made this page.  The file `figure2.csv` has a row for each run.  Eight workers learn"
	for (k in n) {
		if (n[k] > most) most = n[k]
		if (!least || n[k] < least) least = n[k]
	}
	print "CartPole with A2C.  The tables show how many iterations a worker needed until the mean reward of its last 20"
	printf "episodes reached 475.  Each figure is the mean over the workers and over %s runs, with the standard deviation over\n",
	    least == most ? most : least " to " most
	print "runs in brackets.  If some workers did not reach 475 in time, the field shows how many workers reached 475, with"
	print "the mean reward at the end in brackets."
	printf "\nIn mode async, the workers sent %.0f %% of the gradients that their intervals allow.", paces ? pace / paces : 0
	printf "%s\n\n", left ? sprintf("  Runs that sent less than 70 %% are not in the tables: %d.", left) : ""
	if (bars != "") plotted()
	equal_steps()
	equal_distances()
	staleness()
	batches()
}
