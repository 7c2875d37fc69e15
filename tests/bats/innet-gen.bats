# Tests of innet-gen: the traffic agrees with the options, to the nanosecond.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	ulimit -f 204800	# so that a failing test does not fill the disk
}

# records FILE [PAYLOAD]: print one line per packet, with decimal numbers; all
# packets have the same size. The columns are 1 timestamp, 2 length, 3 cluster,
# 4 worker, 5 sequence number, 6 merged, 7 following, 8 generation time, 9
# reward (its bits) and 10 elements.
records() {
	od -An -v -tu1 -j24 -w$((16 + 42 + ${2:-256})) "$1" | awk '
		function be(i, n,  v) { for (v = 0; n-- > 0; i++) v = v * 256 + $i; return v }
		function le(i) { return $i + 256 * ($(i + 1) + 256 * ($(i + 2) + 256 * $(i + 3))) }
		BEGIN { OFMT = CONVFMT = "%.0f" }
		{ p = 17 + 42
		  print le(1) * 1e9 + le(5), le(13), be(p + 2, 2), be(p + 4, 4),
			be(p + 8, 4), be(p + 12, 2), be(p + 14, 2), be(p + 16, 8),
			be(p + 24, 4), be(p + 28, 4) }'
}

# Print the gaps between the updates of each worker, one per line.
gaps() {
	records "$@" | awk '{ k = $3 " " $4; if (k in t) print $1 - t[k]; t[k] = $1 }'
}

# moments LO HI LO HI: check that the mean of the numbers on standard input is
# in the first range, and their standard deviation in the second
moments() {
	awk -v a="$1" -v b="$2" -v c="$3" -v d="$4" '
		{ n++; s += $1; q += $1 * $1 }
		END { m = s / n; v = sqrt(q / n - m * m)
		      print "mean", m, "deviation", v
		      exit !(m >= a && m <= b && v >= c && v <= d) }'
}

@test "every worker sends the requested number of updates, numbered from 1" {
	innet-gen -q --clusters 4 --workers 2 -c 5 -w a.pcap
	records a.pcap >a
	[ "$(wc -l <a)" -eq 40 ]
	[ "$(cut -d' ' -f3-5 a | sort -u | wc -l)" -eq 40 ]
	awk '$3 < 1 || $3 > 4 || $4 > 1 || $5 < 1 || $5 > 5 { exit 1 }' a
}

@test "headers say merged 1, the generation time and the vector's length" {
	innet-gen -q -c 3 --start 1700000000s -w a.pcap
	records a.pcap | awk '$6 != 1 || $7 != 0 || $8 != $1 || $10 != 56 ||
		$9 != 1065353216 || $1 < 1.7e18 { exit 1 }'
}

@test "timestamps never go back; equal ones are in order of cluster, then worker" {
	for o in poisson lognormal onoff bursts "periodic --phase aligned"; do
		innet-gen -q --rate 1G --workers 5 -c 40 --arrivals $o -w a.pcap
		records a.pcap | awk '$1 < t || ($1 == t && $3 * 1000 + $4 <= k) { exit 1 }
			{ t = $1; k = $3 * 1000 + $4 }'
	done
}

@test "tcpdump finds correct checksums and nanosecond timestamps" {
	command -v tcpdump >/dev/null || skip "no tcpdump"
	for o in "" "--format bare --payload 12B" "--payload 36B" "--vector ppo" \
		"--background 1M --rewards noisy"; do
		innet-gen -q -c 20 $o -w a.pcap
		tcpdump --nano -vv -tt -nr a.pcap 2>/dev/null >a
		grep -q 'udp sum ok' a
		run ! grep -qE 'bad|bogus|\[no cksum' a
		grep -qE '^[0-9]+\.[0-9]{9} IP \(tos 0x2c' a
	done
}

@test "tshark finds correct checksums and addresses, and no malformed packet" {
	command -v tshark >/dev/null || skip "no tshark"
	innet-gen -q --clusters 300 --workers 2 -c 1 -w a.pcap
	tshark -r a.pcap -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE \
		-T fields -e ip.checksum.status -e udp.checksum.status -e ip.dst \
		-e udp.dstport 2>/dev/null | sort | uniq -c >a
	[ "$(tr -s ' \t' ' ' <a)" = " 600 1 1 10.255.255.254 46638" ]
	tshark -r a.pcap -T fields -e ip.src -e eth.src 2>/dev/null |
		grep -q '^10.1.44.2	02:00:0a:01:2c:02$'
}

@test "periodic updates are exactly one interval apart" {
	innet-gen -q -c 50 --interval 1234567ns -w a.pcap
	[ "$(gaps a.pcap | sort -u)" = 1234567 ]
}

@test "random phases lie within the interval, and aligned phases are equal" {
	innet-gen -q --clusters 40 -c 1 -w a.pcap
	records a.pcap | awk '$1 >= 1e8 { exit 1 }'
	records a.pcap | moments 40e6 60e6 20e6 35e6
	innet-gen -q --phase aligned -c 2 --interval 5us -w a.pcap
	[ "$(records a.pcap | cut -d' ' -f1 | uniq -c | tr -s ' ')" = " 27 0
 27 5000" ]
}

@test "Poisson gaps have the interval as mean and as deviation" {
	innet-gen -q --arrivals poisson --interval 1ms -c 2000 -w a.pcap
	gaps a.pcap | moments 0.99e6 1.01e6 0.98e6 1.02e6
}

@test "lognormal gaps have the interval as mean, and 1.31 times as much as deviation" {
	innet-gen -q --arrivals lognormal --interval 1ms -c 2000 -w a.pcap
	gaps a.pcap | moments 0.98e6 1.02e6 1.2e6 1.42e6
}

@test "on/off trains have the requested mean length, at four times the rate" {
	innet-gen -q --arrivals onoff --burst 5 --interval 1ms -c 2000 -w a.pcap
	gaps a.pcap | moments 0.97e6 1.03e6 2e6 3e6
	gaps a.pcap | awk '$1 == 250000 { n++ } $1 < 250000 { exit 1 }
		END { exit !(n / NR > 0.79 && n / NR < 0.81) }'
}

@test "the rate is within 1 % of --rate, for all kinds of arrivals" {
	for o in periodic poisson lognormal onoff bursts "periodic --speeds 0.5"; do
		innet-gen --arrivals $o --rate 10G --clusters 30 --duration 20ms \
			--json -w a.pcap >a.json
		awk -v o="$o" -F'[:,}]' '{ r = $16; print o, r
			exit !(r > 9.9e9 && r < 10.1e9) }' a.json
	done
}

@test "jitter delays each update by less than its bound and does not accumulate" {
	innet-gen -q --phase aligned --interval 1ms --jitter 200us -c 300 -w a.pcap
	records a.pcap | awk '{ print $1 - ($5 - 1) * 1e6 }' >late
	awk '$1 < 0 || $1 >= 200000 { exit 1 }' late
	moments 95000 105000 55000 60000 <late
}

@test "--speeds spreads the intervals of the workers over the requested range" {
	innet-gen -q --clusters 50 --speeds 0.5 --interval 1ms -c 2 -w a.pcap
	gaps a.pcap | awk '$1 < 666666 || $1 > 2000000 { exit 1 }
		{ print 1e6 / $1 }' | moments 0.9 1.1 0.24 0.34
}

@test "groups of clusters have intervals of their own" {
	innet-gen -q --clusters 11 --groups 1-5:1ms,6-10:3ms --interval 7ms -c 2 -w a.pcap
	records a.pcap | awk '{ k = $3 " " $4; if (k in t) print ($3 > 10 ? 11 : $3 > 5 ? 6 : 1), $1 - t[k]; t[k] = $1 }' |
		sort -nu >a
	[ "$(cat a)" = "1 1000000
6 3000000
11 7000000" ]
}

@test "the packets of a model follow each other with one timestamp, and their number counts down" {
	innet-gen -q --vector ppo --clusters 1 --workers 1 -c 1 -w a.pcap
	head -c $((24 + 27 * (16 + 42 + 1464))) a.pcap >whole.pcap
	records whole.pcap 1464 | awk '$7 != 28 - NR || $10 != 10005 || $8 != $1 { exit 1 }
		NR > 1 && $1 != t { exit 1 } { t = $1 }'
	# the last packet has 10005 - 27 * 358 floats
	[ "$(stat -c %s a.pcap)" -eq $((24 + 27 * 1522 + 16 + 42 + 32 + 4 * 339)) ]
}

@test "a2c and dqn have the paper's sizes" {
	innet-gen --vector a2c --clusters 1 --workers 1 -c 1 --json -w a.pcap >a
	grep -q '"packets":2312,.*"update_bits":'$((8 * (827500 * 4 + 2312 * 74))), a
	innet-gen --vector dqn --clusters 1 --workers 1 -c 1 --mtu 9000 --json -w a.pcap >a
	grep -q '"packets":'$(((1602500 + 2232) / 2233)), a
}

@test "through a port, frames leave one by one, each after its transmission time" {
	innet-gen -q --phase aligned -c 1 --port-rate 1G --payload 208B -w a.pcap
	records a.pcap 208 | awk '$1 != NR * 2000 { exit 1 }'
	innet-gen -q --vector ppo --clusters 1 --workers 1 -c 1 --port-rate 1G -w a.pcap
	head -c $((24 + 27 * 1522)) a.pcap >whole.pcap
	records whole.pcap 1464 | awk 'NR == 1 { g = $1 } $8 != g ||
		$1 - g != (NR - 1) * 12048 { exit 1 }'
}

@test "a port can add a time for each frame, and for the 24 bytes that captures lack" {
	# at 1 Gbit/s, 250 bytes take 2000 ns and 274 bytes take 2192 ns
	stamps() { innet-gen -q --phase aligned -c 1 --port-rate 1G --payload 208B "$@" -w a.pcap && records a.pcap 208; }
	stamps --frame-time 500ns | awk '$1 != NR * 2500 { exit 1 }'
	stamps --wire-overhead | awk '$1 != NR * 2192 { exit 1 }'
	stamps --wire-overhead --frame-time 1us | awk '$1 != NR * 3192 { exit 1 }'
	stamps >want
	stamps --frame-time 0 | diff want -
	# fractions of a ns are kept: 250 bytes at 3 Gbit/s take a little less
	# than 666 2/3 ns
	stamps --port-rate 3G --frame-time 1ns | awk '$1 != int(NR * 2000 / 3 + NR - 1e-6) { exit 1 }'
	# iswitch: each worker has its own port; there are 5 segments, and the
	# last is sent 5 frame times later
	last_us() { innet-gen -q --program iswitch --clusters 1 --workers 1 -c 1 --vector 45 --mtu 72 "$@" --port-rate 1M |
		tail -c $((16 + 86)) | od -An -td4 -N8 | awk '{ print $1 * 1e6 + $2 / 1e3 }'; }
	[ "$(last_us)" -eq $((1000001 + 5 * 86 * 8)) ]
	[ "$(last_us --frame-time 1ms)" -eq $((1000001 + 5 * (86 * 8 + 1000))) ]
	[ "$(last_us --wire-overhead)" -eq $((1000001 + 5 * 110 * 8)) ]
	run -2 --separate-stderr innet-gen --frame-time 1us -w -
	[ "$stderr" = "innet-gen: --frame-time describes a port, so it needs --port-rate, the rate of that port" ]
	run -2 --separate-stderr innet-gen --wire-overhead -w -
	[ "$stderr" = "innet-gen: --wire-overhead describes a port, so it needs --port-rate, the rate of that port" ]
	# 2000 bits in 2500 ns are 800 Mbit/s
	run -2 --separate-stderr innet-gen --payload 208B --rate 800M --port-rate 1G --frame-time 500ns -w -
	[ "$stderr" = "innet-gen: --rate 800000000 is too high for --port-rate 1000000000 with --frame-time; it must be less than 800000000 bits per second" ]
	innet-gen -q --payload 208B --rate 799M --port-rate 1G --frame-time 500ns -c 1 -w a.pcap
	run -2 innet-gen --port-rate 1G --frame-time 2h -w -
	run -2 innet-gen --program dlp --frame-time 1us -w -
}

@test "bursts contain whole clusters, back to back, at the period of the rate" {
	innet-gen -q --clusters 1 -c 16 --payload 212B --rate 6G --arrivals bursts -w a.pcap
	records a.pcap 212 >a
	[ "$(wc -l <a)" -eq 48 ]
	# 24 frames of 2032 bits: 381 ns through the port, every 8128 ns
	awk 'NR == 1 || NR == 25 { first[NR] = $1 } NR == 24 { print $1 - first[1] }
		NR == 48 { print $1 - first[25]; print first[25] - first[1] }' a >b
	awk 'NR < 3 && ($1 < 364 || $1 > 366) { exit 1 }
		NR == 3 && ($1 < 8127 || $1 > 8129) { exit 1 }' b
	head -n 24 a | cut -d' ' -f4 | sort | uniq -c | awk '$1 != 8 { exit 1 }'
}

@test "bursts: workers take turns, lead or trail in the shares that the manual gives" {
	innet-gen -q --clusters 4 --workers 3 -c 8000 --rate 6G --arrivals bursts --payload 36B -w a.pcap
	records a.pcap 36 | sort -s -n -k3,3 | awk '{ s = s $4 } NR % 24 == 0 {
		if (s ~ /^(012)*$/) turns++
		else if (s ~ /^(00000000|11111111|22222222)/) lead++
		else if (s ~ /(00000000|11111111|22222222)$/) trail++
		else exit 1
		n++; s = "" } END { print turns / n, lead / n, trail / n
		exit !(turns / n > 0.42 && turns / n < 0.47 && lead / n > 0.28 && lead / n < 0.33) }'
}

@test "rewards are constant, rise, or rise with noise" {
	innet-gen -q --clusters 1 --workers 1 --rewards rising -c 300 -w a.pcap
	# 0x3f000000 is 0.5, which the 100th update has; positive floats sort
	# like integers
	records a.pcap | awk '$9 <= r { exit 1 } { r = $9 }
		$5 == 100 && $9 != 1056964608 { exit 1 }'
	innet-gen -q --clusters 1 --workers 1 --rewards noisy -c 300 -w a.pcap
	[ "$(records a.pcap | awk '$9 < r { n++ } { r = $9 } END { print (n > 100) }')" = 1 ]
}

@test "gradients are finite, small and not all alike" {
	innet-gen -q --clusters 2 -c 20 -w a.pcap
	od -An -v -tf4 -j24 -w314 a.pcap >/dev/null
	tail -c +25 a.pcap | od -An -v -tu1 -w314 | cut -c$(((16 + 42 + 32) * 4 + 1))- | sort -u >a
	[ "$(wc -l <a)" -ge 118 ]
	awk '{ for (i = 4; i <= NF; i += 4) if ($i % 128 > 61) exit 1 }' a
}

@test "background traffic has its rate and does not change the updates" {
	command -v tcpdump >/dev/null || skip "no tcpdump"
	innet-gen -q -c 100 --interval 1ms -w a.pcap
	innet-gen --json -c 100 --interval 1ms --background 100M -w b.pcap >b.json
	tcpdump -nr b.pcap -w c.pcap --nano 'udp port 46638' 2>/dev/null
	cmp <(records a.pcap) <(records c.pcap)
	awk -F'[:,}]' '{ exit !($6 > 1150 && $6 < 1350) }' b.json
	tcpdump --nano -tt -nr b.pcap 2>/dev/null | awk '$1 < t { exit 1 } { t = $1 }'
}

@test "a bare packet contains a reward and a gradient, and the table gives its cluster" {
	innet-gen -q --format bare --payload 20B --clusters 2 --workers 1 -c 1 \
		--rewards rising --cluster-table t.csv -w a.pcap
	[ "$(stat -c %s a.pcap)" -eq $((24 + 2 * (16 + 42 + 20))) ]
	[ "$(tail -c 20 a.pcap | od -An -tx1 -N4)" = " 3c 22 37 c3" ]	# the reward 1/101
	[ "$(cat t.csv)" = "prefix,cluster
10.0.1.0/24,1
10.0.2.0/24,2" ]
}

@test "innet-gen --schedule sends exactly the updates of the schedule" {
	printf 'cluster,worker,time_ns,reward\n2,1,50,0.5\n1,0,7,1\r\n\n2,1,9,1\n1,0,50,0.25\n' >s.csv
	innet-gen -q --schedule s.csv --start 1us -w a.pcap
	[ "$(records a.pcap | cut -d' ' -f1,3-5,9)" = "1007 1 0 1 1065353216
1009 2 1 1 1065353216
1050 1 0 2 1048576000
1050 2 1 2 1056964608" ]
	innet-gen -q --schedule - --start 1us <s.csv | cmp - a.pcap
}

@test "clones repeat the recorded updates, gaps and rewards at another phase" {
	for i in {1..50}; do echo "7,0,$((i * i * 100)),0.$((100 + i))"; done >s.csv
	innet-gen -q --schedule s.csv --scale-clusters 20 -w a.pcap
	records a.pcap >a
	[ "$(cut -d' ' -f3 a | sort -n | uniq -c | awk '{ print $1 }' | sort -u)" = 50 ]
	[ "$(cut -d' ' -f3 a | sort -nu | tr '\n' ' ')" = "$(seq -s' ' 7 26) " ]
	# rewards still increase; 48 or 49 of the 49 gaps occur in the recorded
	# run
	awk '$9 <= r[$3] { exit 1 } { r[$3] = $9 }' a
	awk '($3 in t) { print $3, $1 - t[$3] } { t[$3] = $1 }' a |
		awk '$2 % 200 == 100 && $2 >= 300 && $2 <= 9900 { n[$1]++ }
			END { for (c in n) if (n[c] < 47) exit 1 }'
	[ "$(awk '$3 > 7 { print $3, $1 }' a | sort -k1,1n -k2,2n -s | awk '!($1 in f) { f[$1] = $2; print $2 }' | sort -u | wc -l)" -gt 10 ]
}

@test "a captured run can be the schedule, also from a pipe and extended to 100 clusters" {
	innet-gen -q --clusters 2 --workers 3 -c 40 --arrivals poisson -w run.pcap
	dumpolaf run.pcap | awk 'NR == 1 { f = $1 } { printf "%s,%s,%.0f,%s\n", $3, $4, $1 - f, $9 }' >run.csv
	innet-gen -q --schedule run.pcap -w a.pcap
	innet-gen -q --schedule run.csv | cmp - a.pcap
	innet-gen -q --schedule - <run.pcap | cmp - a.pcap
	mkfifo pipe
	cat run.pcap >pipe 3>&- &
	innet-gen -q --schedule pipe | cmp - a.pcap
	innet-gen -q --schedule run.pcap --scale-clusters 100 -w h.pcap
	[ "$(innet-aom -q -r h.pcap --csv | wc -l)" -eq 102 ]
	# a vector that takes several packets counts as one update, and
	# innet-gen reports the merged packets
	innet-gen -q --clusters 1 --workers 2 -c 10 --vector 4kB -w long.pcap
	[ "$(innet-gen -q --schedule long.pcap | innet-aom -q --csv --total --columns received | tail -n 1)" = all,20 ]
	innet-gen -q --rate 60G -c 50 | innet-switch -q --rate 1G -w few.pcap
	run -0 --separate-stderr innet-gen -q --schedule few.pcap -w x.pcap
	[[ $stderr == "innet-gen: few.pcap: "*" packets contain several updates, and each counts as one; capture the packets before the switch merges them" ]]
}

@test "an error explains why a captured run cannot be a schedule" {
	innet-gen -q --clusters 1 --workers 2 -c 10 -w run.pcap
	head -c 700 run.pcap >cut.pcap
	run -1 --separate-stderr innet-gen --schedule cut.pcap -w a.pcap
	[[ $stderr == "innet-gen: cut.pcap: packet 3: truncated dump file; "* ]]
	innet-gen -q --program iswitch --clusters 1 --workers 2 -c 1 -w seg.pcap
	run -1 --separate-stderr innet-gen --schedule seg.pcap -w a.pcap
	[[ ${stderr_lines[-1]} == "innet-gen: seg.pcap: contains no update" ]]
	echo '1000 1 254 1 1 900 0 4' | mkolaf >many.pcap
	run -1 --separate-stderr innet-gen --schedule many.pcap -w a.pcap
	[[ $stderr == "innet-gen: many.pcap: packet 1: worker 254 of cluster 1: the worker must be less than 254 and the cluster less than 65280" ]]
}

@test "with --duration, a schedule repeats one interval after its end" {
	printf '1,0,5us,0.5\n1,0,15us,1\n1,0,25us,2\n2,0,8us,4\n' >s.csv
	innet-gen -q --schedule s.csv --duration 66us -w a.pcap
	[ "$(records a.pcap | awk '{ print $1, $3, $5 }' | tr '\n' ' ')" = \
	    "5000 1 1 8000 2 1 15000 1 2 25000 1 3 35000 1 4 38000 2 2 45000 1 5 55000 1 6 65000 1 7 " ]
	[ "$(records a.pcap | cut -d' ' -f9 | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = "3 2 2 2 " ]
	innet-gen -q --schedule s.csv --duration 15us -w a.pcap
	[ "$(records a.pcap | wc -l)" -eq 2 ]
	# clones continue at the same pace: three updates in each 30us, in order
	innet-gen -q --schedule s.csv --scale-clusters 100 --duration 305us -w h.pcap
	records h.pcap >h
	[ "$(cut -d' ' -f3 h | sort -n | uniq -c | awk '{ print $1 }' | paste -sd' ')" = \
	    "$(for i in {1..50}; do echo 30 10; done | paste -sd' ')" ]
	cut -d' ' -f1 h | sort -nc
	awk '$3 % 2 && ($3 in t) && $1 - t[$3] != 10000 { exit 1 } { t[$3] = $1 }' h
	for l in 1,0,5,1 $'1,0,5,1\n2,0,9,1'; do
		echo "$l" >s.csv
		run -1 --separate-stderr innet-gen --schedule s.csv --duration 1s -w no.pcap
		[[ $stderr == "innet-gen: s.csv: the schedule cannot be repeated for --duration, "* ]]
		[ ! -e no.pcap ]
	done
}

@test "an error in a schedule gives file and line" {
	printf '1,0,5,1\n1,0,x,1\n' >s.csv
	run -1 --separate-stderr innet-gen --schedule s.csv -w a.pcap
	[ "$stderr" = "innet-gen: s.csv:2: time 'x': not a number" ]
	printf 'cluster,worker,time_ns,reward\r\n\r\n1,0,5\r\n' >s.csv
	run -1 --separate-stderr innet-gen --schedule s.csv -w a.pcap
	[[ $stderr == "innet-gen: s.csv:3: the line has 3 fields; it must have 4: "* ]]
	for l in 65280,0,5,1 1,254,5,1 1,0,-5,1 1,0,5,nan 1,0,5,1e39 ,,, '1,0,5,1,2' '"1'; do
		echo "$l" >s.csv
		run -1 --separate-stderr innet-gen --schedule s.csv -w a.pcap
		[[ $stderr == "innet-gen: s.csv:"[12]": "* ]]
	done
	: >s.csv
	run -1 --separate-stderr innet-gen --schedule s.csv -w a.pcap
	[ "$stderr" = "innet-gen: s.csv: contains no update" ]
	run -1 --separate-stderr innet-gen --schedule no-such.csv -w a.pcap
	[ "$stderr" = "innet-gen: no-such.csv: No such file or directory" ]
}

@test "the last worker and cluster that have an address are accepted, and the next ones refused" {
	innet-gen -q --clusters 65279 --workers 1 -c 1 -w a.pcap
	innet-gen -q --clusters 1 --workers 254 -c 1 -w a.pcap
	run -2 --separate-stderr innet-gen --clusters 65280 -w a.pcap
	[ "$stderr" = "innet-gen: invalid clusters '65280': the maximum is 65279, because higher numbers have no address" ]
	run -2 --separate-stderr innet-gen --workers 255 -w a.pcap
	[ "$stderr" = "innet-gen: invalid workers '255': the maximum is 254, because higher numbers have no address" ]
}

@test "innet-gen refuses senseless options in one line, with status 2" {
	for o in "--payload 35B" "--payload 37B" "--payload 1468B" "--mtu 71" \
		"--rate 1G --interval 1ms" "--rate 0" "--interval 0" "--interval 105x" \
		"--arrivals never" "--vector gpt" "--vector ppo --payload 256B" \
		"--groups 1-5" "--groups 5-1:1ms" "--groups 1-20:1ms" "--speeds 1" \
		"--scale-clusters 5" "--format bare --vector ppo" "--format bare --payload 7" \
		"--program iswitch --rate 1G" "--program dlp --vector 367" "--rate 200G --port-rate 128G" \
		"--burst 4" "--arrivals bursts --speeds 0.1" "-c 0" \
		"--schedule x.csv --clusters 3" "--async" "--program dlp --async" \
		"--program iswitch --async --arrivals bursts" \
		"--program iswitch --async --rewards noisy" "--start 5000000000s"; do
		run -2 --separate-stderr innet-gen $o -w -
		[ "${#stderr_lines[@]}" -eq 1 ]
		[ -z "$output" ]
	done
}

@test "iswitch: all workers join, then each worker sends each segment of an iteration" {
	innet-gen -q --program iswitch --clusters 2 --workers 3 -c 4 --vector ppo -w a.pcap
	innet-switch -q -p iswitch -r a.pcap -w out.pcap --report r.json
	jq -e '[.jobs[] | .members == 3 and .unfinished == 0 and (.counters |
		.joins == 3 and .segments == 336 and .added == 336 and .results == 112)] == [true, true]' r.json
	innet-switch -q -p iswitch -r a.pcap -w out.pcap -H 3 --report s.json
	cmp r.json s.json
}

@test "iswitch: a seed determines the trace, which is in order of time" {
	innet-gen -q --program iswitch -c 9 --jitter 20ms -w a.pcap
	innet-gen -q --program iswitch -c 9 --jitter 20ms -w b.pcap
	cmp a.pcap b.pcap
	innet-gen -q --program iswitch -c 9 --jitter 20ms --seed 2 -w b.pcap
	run ! cmp -s a.pcap b.pcap
	innet-switch -q -p iswitch -r a.pcap -w out.pcap --report r.json
	jq -e '.time_backwards == 0 and .switch.refused == 0 and .regular == 0' r.json
}

@test "iswitch: options that apply only to updates are misuse" {
	for o in --groups=1:1s --arrivals=poisson --speeds=0.1 --format=bare; do
		run -2 --separate-stderr innet-gen --program iswitch $o -w a.pcap
		[[ $stderr == "innet-gen: ${o%=*} cannot be used with --program iswitch"* ]]
	done
}

# Print the round, contributions, segment and elements of each result that
# worker 0 of job 1 gets.
received() { dumpiswitch out.pcap | awk '$3 == "10.0.1.1:46638" && $4 == "seg" { $1 = $2 = $3 = $4 = ""; print }'; }

@test "iswitch --async: workers of equal speed add one push each to a sum, to the last bit" {
	innet-gen -q --program iswitch --async --phase aligned --clusters 1 --workers 3 -c 5 --vector 1000 -w a.pcap
	innet-switch -q -p iswitch --async -r a.pcap -w out.pcap --report r.json
	jq -e '.jobs["1"].counters | .segments == 45 and .added == 45 and .results == 15' r.json
	# for round r the workers push iteration r - 1, whose sums are known
	received | awk '{ for (i = 0; i < NF - 3; i++) {
			for (sum = w = 0; w < 3; w++)
				sum += (37 * w + 29 * ($1 - 1) + 13 * (at[$1] + i)) % 1024 - 512
			if (sum != $(i + 4)) bad = 1
		} at[$1] += NF - 3; n += NF - 3 } END { exit bad || $2 != 3 || n != 5000 }'
}

@test "iswitch --async: the switch adds every segment to exactly one sum, for any order of pushes" {
	for o in "--speeds 0.9" "--arrivals poisson" "--arrivals onoff --burst 4" \
		"--arrivals lognormal --jitter 50ms" "--groups 2:7ms --port-rate 1M"; do
		innet-gen -q --program iswitch --async --clusters 2 --workers 3 -c 20 --vector 1000 $o -w a.pcap
		innet-switch -q -p iswitch --async -H 2 -r a.pcap -w out.pcap --report r.json
		jq -e '[.jobs[] | .unfinished == 0 and (.counters | .segments == 180 and
			.added == 180 and .results == 90)] == [true, true]' r.json
		jq -e '.time_backwards == 0' r.json
		# the results of all rounds add up to the sum of all pushes
		received | awk '{ for (i = 4; i <= NF; i++) got += $i }
			END { for (w = 0; w < 3; w++) for (t = 0; t < 20; t++) for (i = 0; i < 1000; i++)
				all += (37 * w + 29 * t + 13 * i) % 1024 - 512
				exit NR != 90 || got != all }'
	done
}

@test "iswitch --async: a fast worker pushes more, and --duration leaves no incomplete push" {
	innet-gen -q --program iswitch --async --clusters 1 --workers 2 --speeds 0.9 --duration 4s \
		--port-rate 1M --vector 1000 -w a.pcap
	dumpiswitch a.pcap | awk '$4 == "seg" { n[$2]++ } END { for (w in n) { bad = bad || n[w] % 3
		v[k++] = n[w] } exit bad || v[0] == v[1] }'
	innet-switch -q -p iswitch --async -r a.pcap -w out.pcap --report r.json
	jq -e '.jobs["1"].counters | .added == .segments and .added > 60' r.json
}

@test "a full disk: one line, status 1" {
	[ -w /dev/full ] || skip "no /dev/full"
	run -1 --separate-stderr innet-gen -q -c 10 -w /dev/full
	[ "$stderr" = "innet-gen: /dev/full: the output is incomplete: No space left on device" ]
}

@test "a closed pipe: one line, status 1, at once" {
	{ innet-gen -q -c 4294967295 2>err || echo $? >rc; } | head -c 100 >/dev/null
	[ "$(cat rc)" -eq 1 ]
	[ "$(cat err)" = "innet-gen: standard output: the output is incomplete: Broken pipe" ]
}

@test "the file ends before a timestamp after 2106, with an error and status 1" {
	run -1 --separate-stderr innet-gen -q --start 4294967295s --interval 1s -c 3 -w a.pcap
	[[ $stderr == "innet-gen: update "*": a pcap file cannot hold times after the year 2106; the output ends before this update" ]]
	[ "$(records a.pcap | wc -l)" -eq 27 ]
}

@test "after an interruption, the written packets are complete" {
	innet-gen -q -c 4294967295 -w a.pcap 3>&- &
	until [ "$(stat -c %s a.pcap 2>/dev/null || echo 0)" -gt 1000000 ]; do :; done
	kill -INT $!
	rc=0
	wait $! || rc=$?
	[ "$rc" -eq 130 ]
	[ $((($(stat -c %s a.pcap) - 24) % 314)) -eq 0 ]
}

@test "--duration ends every worker at the same time" {
	innet-gen -q --duration 1s -w a.pcap
	records a.pcap | awk '$1 >= 1e9 { exit 1 } END { exit NR != 270 }'
}

@test "the summary counts the written packets; -q is silent; -v prints more" {
	run -0 --separate-stderr innet-gen -c 10 -w a.pcap
	[[ $stderr == "innet-gen: 270 updates in 270 packets, "*" Mbit/s over "*" s" ]]
	run -0 --separate-stderr innet-gen -q -c 10 -w a.pcap
	[ -z "$stderr$output" ]
	run -0 --separate-stderr innet-gen -v -c 10 -w a.pcap
	[ "${#stderr_lines[@]}" -eq 3 ]
}
