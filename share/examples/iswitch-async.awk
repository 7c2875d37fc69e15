# iswitch-async.awk - print async.csv of iswitch-async.sh as a Markdown table,
# followed by the conclusions that the figures allow
#
#	awk -f iswitch-async.awk async.csv >async.md
#
# A full segment has 1,464 bytes of the vector in a frame of 1,514 bytes.  A
# pace counts only the UDP payload of the frame, 1,472 bytes.
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

# Return the time of an iteration divided by the time of its bytes on the wire.
function times(k) { return median(iteration, k) / wire[k] }

# Print a sentence with the ratio of times(a), divided by times(b) if b is given;
# print nothing if a run is missing.
function says(form, a, b, more) {
	if (n[a] && (b == "" || n[b]))
		printf("- " form "\n", times(a) / (b == "" ? 1 : times(b)), more)
}

END {
	print "# The time of an asynchronous iteration, compared with the time of its bytes\n"
	print "The script `share/examples/iswitch-async.sh` made this page.  The file `async.csv` has a row for each run.  Four workers push"
	print "synthetic vectors as fast as they can. The queue in front of each link has room for a quarter of a vector (short) or for six vectors (long)."
	printf "The table shows medians of %d run%s, in ms.\n\n", n[keys[1]], (n[keys[1]] > 1 ? "s" : "")
	print "| carrier | vector | Mbit/s | queue | pace | bytes on the wire | round | iteration | segments sent again |"
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
	says("Without losses and pacing, an iteration through the switch takes %.2f times as long as its bytes need on the\n" \
	    "  wire.", s " long none")
	says("A gradient that goes through the server takes %.2f times as long as its bytes need on the wire.", p " long none")
	says("With a pace of 92 %%, an iteration through the switch takes %.2f times as long as without pacing. From the pace\n" \
	    "  alone we expect a factor of %.2f.", s " long 92", s " long none", frame / 0.92)
	says("With a short queue, an iteration through the switch takes %.2f times as long as with a long queue, because\n" \
	    "  %d lost segments are sent again.", s " short none", s " long none", median(again, s " short none"))
	says("A pace of 23 %% of the rate of the server's link is the share of one worker. With this pace, an iteration through the server takes %.2f times\n" \
	    "  as long as without pacing. A round without pacing takes as long as 4 vectors. With the pace, a push takes 4.23 times\n" \
	    "  as long as without the pace (1472/1514 divided by 0.23), and the answer takes as long as before. The expected ratio is\n" \
	    "  therefore (4.23 + 1) / 4 = %.2f.",
	    p " long 23", p " long none", (frame / 0.23 + 1) / 4)
	says("With a pace of 23 %% and a queue too short for the server's answer, an iteration through the server takes %.2f\n" \
	    "  times as long as with a long queue, because %d lost segments are sent again.",
	    p " short 23", p " long 23", median(again, p " short 23"))
	says("If the vectors are five times as large and the links five times as fast, an iteration through the switch takes\n" \
	    "  %.2f times as long, because the processors of this machine are too slow for all the work.",
	    "switch 100 6410000 long none", s " long none")
	says("With these larger vectors and faster links, an iteration through the server takes %.2f times as long.", "ps 100 6410000 long none", p " long none")
	says("With DDPG's vector of 157.52 kB, an iteration through the switch takes %.2f times as long as its bytes need on the wire.",
	    "switch 100 157520 long none")
	says("With DDPG's vector, an iteration through the server takes %.2f times as long as its bytes need on the wire.", "ps 100 157520 long none")
	says("With PPO's vector of 40.02 kB, an iteration through the switch takes %.2f times as long as its bytes need on the wire.",
	    "switch 100 40020 long none")
	says("With PPO's vector, an iteration through the server takes %.2f times as long as its bytes need on the wire.", "ps 100 40020 long none")
}
