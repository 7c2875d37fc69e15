# iswitch-async.awk - async.csv of iswitch-async.sh as a table, in Markdown, and
# what it says, whichever way it came out
#
#	awk -f iswitch-async.awk async.csv >async.md
#
# A full segment has 1,464 bytes of vector in a frame of 1,514; a pace is of its
# 1,472 bytes of UDP payload.
BEGIN {
	FS = ","
	frame = 1472 / 1514
}

NR > 1 {
	k = $2 " " $3 " " $4 " " $5 " " $6
	if (!n[k]++) {
		keys[++all] = k
		wire[k] = $4 / 1464 * 1514 * 8 / ($3 * 1e3)
	}
	round[k, n[k]] = $7; iteration[k, n[k]] = $8; again[k, n[k]] = $9
}

function median(v, k,    i, j, t, x) {
	for (i = 1; i <= n[k]; i++) x[i] = v[k, i]
	for (i = 2; i <= n[k]; i++)
		for (j = i; j > 1 && x[j] + 0 < x[j - 1] + 0; j--) { t = x[j]; x[j] = x[j - 1]; x[j - 1] = t }
	i = int((n[k] + 1) / 2)
	return n[k] % 2 ? x[i] : (x[i] + x[i + 1]) / 2
}

# An iteration by its time by the wire
function times(k) { return median(iteration, k) / wire[k] }

# says FORM, A, B, MORE: A's by its wire, or by B's; nothing if there are none
function says(form, a, b, more) {
	if (n[a] && (b == "" || n[b]))
		printf("- " form "\n", times(a) / (b == "" ? 1 : times(b)), more)
}

END {
	print "# What an asynchronous iteration takes besides the time for its bytes\n"
	print "Made by `share/examples/iswitch-async.sh`; `async.csv` has a row for each run.  Four workers push made-up"
	print "vectors as fast as they go; a queue before each link holds a quarter of a vector (short) or six (long)."
	printf "Medians of %d run%s, in ms.\n\n", n[keys[1]], (n[keys[1]] > 1 ? "s" : "")
	print "| carrier | vector | Mbit/s | queue | pace | by the wire | round | iteration | segments sent again |"
	print "|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= all; i++) {
		k = keys[i]
		split(k, a, " ")
		printf "| %s | %s | %d | %s | %s | %.1f | %.1f | %.1f | %d |\n", a[1],
		    (a[3] < 1e6 ? sprintf("%.2f kB", a[3] / 1e3) : sprintf("%.2f MB", a[3] / 1e6)), a[2], a[4],
		    (a[5] == "none" ? a[5] : a[5] " %"), wire[k], median(round, k), median(iteration, k), median(again, k)
	}
	print "\nConclusions:\n"
	s = "switch 20 1282000"; p = "ps 20 1282000"
	says("Where nothing is lost and nothing is paced an iteration by the switch takes %.2f times its bytes.", s " long none")
	says("So does a gradient by the server: %.2f times.", p " long none")
	says("A pace of 92 %% takes a worker of the switch %.2f times as long, of which the pace itself is %.2f.",
	    s " long 92", s " long none", frame / 0.92)
	says("A queue that is too short makes it %.2f times as long, because lost segments are sent again: %d of them.",
	    s " short none", s " long none", median(again, s " short none"))
	says("A pace of 23 %%, a worker's share, makes it %.2f times as long by the server: of a round, which is 4 by\n" \
	    "  the wire, a push takes 1 / 0.23 and its answer 1, one behind the other: %.2f.",
	    p " long 23", p " long none", (frame / 0.23 + 1) / 4)
	says("A queue too short for the server's answer makes that %.2f times as long again: %d segments.",
	    p " short 23", p " long 23", median(again, p " short 23"))
	says("Five times the bytes over links five times as fast take %.2f times as long by the switch: what the\n" \
	    "  processors of this machine cannot do at once.", "switch 100 6410000 long none", s " long none")
	says("By the server it is %.2f times.", "ps 100 6410000 long none", p " long none")
	says("DDPG's vector of 157.52 kB takes %.2f times its bytes by the switch.", "switch 100 157520 long none")
	says("By the server it is %.2f times.", "ps 100 157520 long none")
	says("PPO's vector of 40.02 kB takes %.2f times its bytes by the switch.", "switch 100 40020 long none")
	says("By the server it is %.2f times.", "ps 100 40020 long none")
}
