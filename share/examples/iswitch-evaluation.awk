# iswitch-evaluation.awk - print the results of iswitch-evaluation.sh as Markdown
# tables, next to the figures of the paper (Tables 3 to 5 and Figure 12)
#
#	awk -f iswitch-evaluation.awk measured.csv >results.md
#
# It also writes two files: figure12.csv for gnuplot, with a block for each
# algorithm, and table3.csv for innet-plot bars.  The figures of the paper are from
# its Tables 3 to 5.  Its time of one synchronous iteration is the hours of Table 4
# divided by the iterations.
BEGIN {
	FS = ","
	split("dqn a2c ppo ddpg", algorithm, " ")
	split("ps ring switch", carrier, " ")
	title["ps"] = "PS"; title["ring"] = "ring"; title["switch"] = "switch"
	rival["ps"] = "parameter server"; rival["ring"] = "ring"
	name["dqn"] = "DQN"; name["a2c"] = "A2C"; name["ppo"] = "PPO"; name["ddpg"] = "DDPG"
	# paper(key, iterations, hours, reward[, ms of an iteration])
	paper("sync dqn ps", 1.4e6, 31.72, 20.00); paper("sync dqn ring", 1.4e6, 16.08, 19.94)
	paper("sync dqn switch", 1.4e6, 8.66, 20.00)
	paper("sync a2c ps", 2e5, 2.87, 13491.73); paper("sync a2c ring", 2e5, 1.78, 13478.39)
	paper("sync a2c switch", 2e5, 1.12, 13489.22)
	paper("sync ppo ps", 8e4, 0.39, 3090.24); paper("sync ppo ring", 8e4, 0.42, 3093.18)
	paper("sync ppo switch", 8e4, 0.22, 3091.61)
	paper("sync ddpg ps", 7.5e5, 8.07, 2476.75); paper("sync ddpg ring", 7.5e5, 9.01, 2487.43)
	paper("sync ddpg switch", 7.5e5, 4.40, 2479.62)
	paper("async dqn ps", 6.3e6, 43.54, 19.10, 24.88); paper("async dqn switch", 3.5e6, 11.74, 19.82, 12.07)
	paper("async a2c ps", 1.2e6, 4.38, 13402.83, 13.13); paper("async a2c switch", 4e5, 1.39, 13505.46, 12.53)
	paper("async ppo ps", 5.4e5, 0.51, 3083.67, 3.40); paper("async ppo switch", 1.2e5, 0.27, 3084.23, 7.99)
	split("1 1 1 1 1.97 1.62 0.91 0.90 3.66 2.55 1.72 1.83", sync_speedup, " ")
	split("1 1 1 1 - - - - 3.71 3.14 1.92 1.56", async_speedup, " ")
	paper("async ddpg ps", 3e6, 9.65, 2421.89, 11.58); paper("async ddpg switch", 1.5e6, 6.20, 2485.35, 14.89)
}
function paper(key, iterations, hours, reward, ms) {
	p_iterations[key] = iterations; p_hours[key] = hours; p_reward[key] = reward
	p_ms[key] = ms ? ms : hours * 3.6e6 / iterations
}

FNR > 1 {
	key = $5 " " $2 " " $6
	if ($1 == "train") {
		n[key] = $7; seconds[key] = $8; own_ms[key] = $9; reward[key] = $13; solved[key] = $14
		env[$2] = $3
	} else if ($1 == "paced") {
		paced[key] = $9; paced_compute[key] = $10; paced_aggregation[key] = $11
	} else {
		ms[key] = $9; compute[key] = $10; aggregation[key] = $11; update[key] = $12
		size[$2] = $4
	}
}

function or_dash(x, form) { return x == "" ? "-" : sprintf(form, x) }
function ratio(a, b, form) { return a == "" || b + 0 == 0 ? "-" : sprintf(form, a / b) }
function bytes(x) { return x >= 1e6 ? sprintf("%.2f MB", x / 1e6) : sprintf("%.2f kB", x / 1e3) }

# Return the number of iterations to the goal.  In sync mode all carriers get
# the same number, as in the paper, because all of them compute the same sums. 
# It is the number of the switch, or that of another carrier if the switch did
# not reach the goal.
function needed(mode, a, c,    i, k) {
	if (mode == "sync")
		for (i = 3; i >= 1; i--)
			if (solved["sync " a " " carrier[i]] > 0) return n["sync " a " " carrier[i]]
	k = mode " " a " " c
	return solved[k] > 0 ? n[k] : ""
}
# Return the end-to-end time in seconds at the paper's size, which is a product.
function product(mode, a, c,    k, x) {
	k = mode " " a " " c
	x = needed(mode, a, c)
	return x == "" || ms[k] == "" ? "" : x * ms[k] / 1e3
}

function figure12(    i, j, a, c, k, ps) {
	print "## Figure 12: a synchronous iteration, vectors of the paper's sizes\n"
	print "All times are in ms, and are means over the four workers in runs (ii). The columns \"less\""
	print "show by how many per cent a time is shorter than the time with the parameter server.\n"
	print "| algorithm | size | carrier | iteration | compute | aggregation | update | less | aggregation less | paper: iteration | less |"
	print "|---|---|---|---|---|---|---|---|---|---|---|"
	print "carrier,compute,aggregation,update" >"figure12.csv"
	for (i = 1; i in algorithm; i++) for (j = 1; j in carrier; j++) {
		a = algorithm[i]; c = carrier[j]; k = "sync " a " " c; ps = "sync " a " ps"
		if (ms[k] == "") continue
		printf "| %s | %s | %s | %.2f | %.2f | %.2f | %.2f | %s | %s | %.2f | %.1f %% |\n", name[a], bytes(size[a]),
		    title[c], ms[k], compute[k], aggregation[k], update[k], less(ms[k], ms[ps]),
		    less(aggregation[k], aggregation[ps]), p_ms[k], 100 * (1 - p_ms[k] / p_ms[ps])
		if (ms[ps] + 0 == 0) continue
		if (c == "ps") printf "\n\n# %s\n", name[a] >"figure12.csv"
		printf "%s,%.4f,%.4f,%.4f\n", title[c], compute[k] / ms[ps],
		    aggregation[k] / ms[ps], update[k] / ms[ps] >"figure12.csv"
	}
	print "\nIn the paper, an iteration takes 41.9 to 72.7 % less time with the switch than with the parameter server, and aggregation takes"
	print "81.6 to 85.8 % less time. An iteration takes 36.7 to 48.9 % less time with the switch than with the ring, and"
	print "aggregation takes 63.4 to 87.9 % less time.\n"
}
function less(a, b) { return a == "" || b + 0 == 0 ? "-" : sprintf("%.1f %%", 100 * (1 - a / b)) }

function training(mode, table,    i, j, a, c, k) {
	printf "## Table %s: training, %s\n\n", table, mode == "sync" ? "synchronous" : "asynchronous, staleness at most 3"
	print "We measured the iterations, the seconds and the reward in runs (i), and the time of an iteration in runs (ii)."
	print "We did not measure the end-to-end time at the paper's size. We multiplied the number of iterations by the time of an"
	print "iteration instead."
	if (mode == "sync")
		print "As in the paper, we use the number of iterations with the switch for every carrier."
	print ""
	print "| algorithm | carrier | iterations | seconds | reward | ms an iteration, paper's size | product, s | paper: iterations | ms | hours | reward |"
	print "|---|---|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i in algorithm; i++) for (j = 1; j in carrier; j++) {
		a = algorithm[i]; c = carrier[j]; k = mode " " a " " c
		if (n[k] == "" && ms[k] == "") continue
		printf "| %s%s | %s | %s%s | %s | %s | %s | %s | %.2e | %.2f | %.2f | %.2f |\n", name[a],
		    a in env ? ", " env[a] : "", title[c], n[k] != "" && !solved[k] ? "not solved in " : "",
		    or_dash(n[k], "%d"), or_dash(seconds[k], "%.1f"), or_dash(reward[k], "%.1f"),
		    or_dash(ms[k], "%.2f"), or_dash(product(mode, a, c), "%.1f"),
		    p_iterations[k], p_ms[k], p_hours[k], p_reward[k]
	}
	print ""
}

# Print the runs with the paper's computing times, which differ only by the
# network.
function with_compute(    i, j, a, c, k, ps, any) {
	for (k in paced) any = 1
	if (!any) return
	print "## With the paper's computing\n"
	print "In runs (iii), a gradient takes 100 times as long to compute as on the paper's GPUs, because our links are 100"
	print "times slower. We derive the compute time of the paper from Table 4 of the paper, and assume that aggregation"
	print "takes 85.8 % less time with the switch than with the parameter server. The compute time is T(PS) - (T(PS) - T(iSW)) / 0.858.\n"
	print "| algorithm | carrier | iteration, ms | compute | aggregation | speedup | paper: iteration, ms | aggregation | speedup |"
	print "|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i in algorithm; i++) for (j = 1; j in carrier; j++) {
		a = algorithm[i]; c = carrier[j]; k = "sync " a " " c; ps = "sync " a " ps"
		if (paced[k] == "") continue
		printf "| %s | %s | %.1f | %.1f | %.1f | %s | %.2f | %.2f | %.2f |\n", name[a], title[c], paced[k],
		    paced_compute[k], paced_aggregation[k], ratio(paced[ps], paced[k], "%.2f"), p_ms[k],
		    p_ms[k] - paced_compute[k] / 100, p_ms[ps] / p_ms[k]
	}
	print ""
}

function speedups(    m, i, j, a, c, k, p, ps, mode, line) {
	print "## Table 3: speedup end to end over PS of the same kind\n"
	print "Each field of the table has three speedups. The first speedup is for vectors of the paper's sizes; we compute it from"
	print "the products in Tables 4 and 5. The second speedup is from the training runs (i), and the third is from the paper.\n"
	print "| | carrier | DQN | A2C | PPO | DDPG |"
	print "|---|---|---|---|---|---|"
	for (m = 1; m <= 2; m++) for (j = 1; j in carrier; j++) {
		mode = m == 1 ? "sync" : "async"; c = carrier[j]; line = ""
		for (i = 1; i in algorithm; i++) {
			a = algorithm[i]; k = mode " " a " " c; ps = mode " " a " ps"
			if (!(k in p_ms)) continue
			p = m == 1 ? sync_speedup[4 * j - 4 + i] : async_speedup[4 * j - 4 + i]
			line = line sprintf(" | %s / %s / %.2f", ratio(product(mode, a, "ps"), product(mode, a, c), "%.2f"),
			    solved[ps] && solved[k] ? ratio(seconds[ps], seconds[k], "%.2f") : "-", p)
		}
		if (line != "") printf "| %s | %s%s |\n", mode, title[c], line
	}
	print ""
}

# Write our speedups and those of the paper for a plot, with a group of bars for
# each algorithm.  A carrier that was measured has two columns.
function bars(    i, j, a, x, head, any) {
	head = "algorithm"
	for (j = 1; j <= 3; j++) for (i = 1; i in algorithm; i++) {
		a = algorithm[i]
		x = j < 3 ? speedup("sync", a, carrier[j + 1]) : speedup("async", a, "switch")
		row[i, j] = x "," (j < 3 ? sync_speedup[4 * j + i] : async_speedup[8 + i])
		if (x != "") any[j] = 1
	}
	for (j = 1; j <= 3; j++)
		if (any[j]) head = head "," series(j) "," series(j) " (paper)"
	if (head == "algorithm") return
	print head >"table3.csv"
	for (i = 1; i in algorithm; i++) {
		x = name[algorithm[i]]
		for (j = 1; j <= 3; j++) if (any[j]) x = x "," row[i, j]
		if (algorithm[i] in size) print x >"table3.csv"
	}
}
function series(j) { return j == 1 ? "ring" : j == 2 ? "switch" : "switch async" }
function speedup(mode, a, c,    x) {
	x = ratio(product(mode, a, "ps"), product(mode, a, c), "%.4f")
	return x == "-" ? "" : x
}

# Print for each algorithm, mode and carrier whether the switch is faster.
function verdicts(    m, i, j, a, c, s, t, mode) {
	print "## Does the switch win?\n"
	for (m = 1; m <= 2; m++) for (i = 1; i in algorithm; i++) for (j = 1; j <= 2; j++) {
		mode = m == 1 ? "sync" : "async"; a = algorithm[i]; c = carrier[j]
		t = product(mode, a, "switch"); s = product(mode, a, c)
		if (t != "" && s != "")
			printf "- In %s training of %s with vectors of the paper's size, the switch %s the %s: %.1f s against %.1f s.\n",
			    mode "hronous", name[a], t < s ? "beats" : "**does not beat**", rival[c], t, s
		t = mode " " a " switch"; s = mode " " a " " c
		if (solved[t] && solved[s])
			printf "- In %s training of %s with our own, small vectors, the switch %s the %s: %.1f s against %.1f s.\n",
			    mode "hronous", name[a], seconds[t] < seconds[s] ? "beats" : "**does not beat**", rival[c],
			    seconds[t], seconds[s]
	}
	print ""
}

END {
	print "# iSwitch's evaluation in a rack of network namespaces\n"
	print "The command `" made "` made this page. It used four workers and links of 100 Mbit/s."
	printf "All hosts share %s processors. The carrier of the gradients is a parameter server (PS), MPI's ring, or the switch.\n", processors
	print "There are three kinds of runs:\n"
	print "- (i) The agents train until they reach the goal. The vectors have the sizes of the agents' own, small networks."
	print "- (ii) The same agents run a few iterations with vectors of the paper's sizes."
	print "- (iii) These runs are like (ii), but computing a gradient takes 100 times as long as on the paper's GPUs.\n"
	speedups()
	bars()
	training("sync", 4)
	training("async", 5)
	figure12()
	with_compute()
	verdicts()
	while ((getline line <notes) > 0) print line
}
