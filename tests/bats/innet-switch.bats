# Tests of the switch as a filter.
load common

@test "an update that waits merges with the next update of its cluster" {
	{ at 1 1 0 1; at 2 2 0 1; at 3 2 1 1; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	diff - <(dumpolaf out.pcap | cut -d' ' -f1,3-6) <<-E
		11000000 1 0 1 1
		21000000 2 1 1 2
	E
	[ "$(count r.json aggregated)" -eq 1 ]
	jq -e '.merged_histogram == {"1": 1, "2": 1}' r.json
}

@test "a newer update of one worker replaces the waiting one; an older update is superseded" {
	{ at 1 9 0 1; at 2 2 0 5; at 3 2 0 6; at 4 2 0 4; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	[ "$(dumpolaf out.pcap | tail -n 1 | cut -d' ' -f5,6)" = "6 1" ]
	[ "$(count r.json replaced)" -eq 1 ]
	[ "$(count r.json superseded)" -eq 2 ]
}

@test "means are weighted by the number of merged updates, and sums are not" {
	{ at 1 9 0 1; echo "2000000 2 0 1 3 7 4 1"; echo "3000000 2 1 1 1 5 8 1"; } |
		mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW
	[ "$(dumpolaf out.pcap | tail -n 1 | cut -d' ' -f6,8-10)" = "4 7 5 5" ]
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --combine sum
	[ "$(dumpolaf out.pcap | tail -n 1 | cut -d' ' -f6,8-10)" = "4 7 5 12" ]
}

@test "with a reward threshold, better updates replace the waiting one and worse updates are dropped" {
	{ at 1 9 0 1; echo "2000000 2 0 1 1 2 5 1"; echo "3000000 2 1 1 1 3 6.5 1"
	  echo "4000000 2 2 1 1 4 5.4 1"; echo "5000000 2 2 2 1 5 6 1"; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --reward-threshold 1 --report r.json
	[ "$(count r.json replaced_reward)" -eq 1 ]
	[ "$(count r.json dropped_reward)" -eq 1 ]
	[ "$(dumpolaf out.pcap | tail -n 1 | cut -d' ' -f6,9)" = "2 6.25" ]
}

@test "a full queue drops updates, and a drop-tail queue never merges" {
	{ for c in 1 2 3 2; do at $c $c $c 1; done; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w /dev/null --rate $SLOW --slots 2 --report r.json
	[ "$(count r.json dropped_full)" -eq 1 ]
	innet-switch -q --queue fifo -r in.pcap -w /dev/null --rate $SLOW --slots 2 --report r.json
	[ "$(count r.json dropped_full)" -eq 2 ]
	[ "$(count r.json aggregated)" -eq 0 ]
}

@test "merged counts stop at 65535" {
	{ at 1 9 0 1; echo "2000000 2 0 1 65000 2 1 1"; echo "3000000 2 1 1 535 3 1 1"
	  echo "4000000 2 2 1 1 4 1 1"; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	[ "$(dumpolaf out.pcap | tail -n 1 | cut -d' ' -f6)" = 65535 ]
	[ "$(count r.json dropped_limit)" -eq 1 ]
}

@test "packets leave with correct checksums, for any input" {
	for link in ethernet vlan raw sll sll2 null; do
		{ at 1 9 0 1; at 2 2 0 1; at 3 2 1 1; } | mkolaf -l $link >in.pcap
		innet-switch -q -r in.pcap -w out.pcap --rate $SLOW
		[ "$(tshark -r out.pcap -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE \
			-T fields -e ip.checksum.status -e udp.checksum.status 2>/dev/null |
			sort -u)" = "1	1" ]
	done
}

@test "regular traffic bypasses the queue, with timestamps and bytes unchanged" {
	{ at 1 1 0 1 tos=0; at 2 1 0 2 tos=0x1c; at 3 1 0 3 tos=0; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	cmp in.pcap out.pcap
	[ "$(jq .regular r.json)" -eq 3 ]
}

@test "--regular queued: regular traffic takes slots" {
	{ at 1 1 0 1 tos=0; at 2 2 0 1; at 3 1 0 2 tos=0; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --regular queued --slots 2 --report r.json
	[ "$(jq -c '[.regular, .regular_dropped]' r.json)" = '[2,1]' ]
	[ "$(dumpolaf out.pcap | cut -d' ' -f1)" = 21000000 ]
}

@test "the switch keeps the ECN bits" {
	at 1 1 0 1 tos=0x2f | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	[ "$(count r.json delivered)" -eq 1 ]
	[ "$(tcpdump -vnr out.pcap 2>/dev/null | grep -c 'tos 0x2f')" -eq 1 ]
}

@test "the switch writes the queue's status into models and does not change weights" {
	{ at 1 1 0 1; at 2 2 0 1; at 3 1 0 1 kind=2; at 4 1 0 0 kind=3; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --slots 2 --report r.json
	[ "$(dumpolaf out.pcap | grep '^3000000 2' | cut -d' ' -f12-)" = "2 3 2 2" ]
	[ "$(jq -c '[.models, .weights]' r.json)" = '[1,1]' ]
}

@test "the packets of a vector are queued one by one" {
	{ at 1 9 0 1; for s in 1 2; do for f in 1 0; do
		echo "${s}100000 2 $s 1 1 7 1 4 following=$f n=2"; done; done; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW
	diff - <(dumpolaf out.pcap | tail -n 2 | cut -d' ' -f3,6,7) <<-E
		2 2 1
		2 2 0
	E
}

@test "a vector with another division into packets than the cluster's is mismatched" {
	{ at 1 1 0 1; echo "2000000 1 1 1 1 2 1 2"; at 3 2 0 1; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w /dev/null --rate $SLOW --report r.json
	[ "$(jq .ignored.mismatched r.json)" -eq 1 ]
	[ "$(count r.json arrived)" -eq 2 ]
}

@test "after a minute, a job with another vector length may take a cluster, even with an update waiting" {
	{ at 1 2 0 1; at 2 1 0 1; echo "61000000000 1 1 1 1 61000000000 1 300"; } | mkolaf >in.pcap
	timeout 10 innet-switch -q -r in.pcap -w out.pcap --rate 8 --report r.json
	[ "$(dumpolaf out.pcap | tail -n 1 | cut -d' ' -f3,4,6,11)" = "1 1 1 300" ]
	[ "$(count r.json superseded)" -eq 1 ]
	[ "$(jq -c .ignored r.json)" = '{}' ]
}

@test "--propagation delays what the queue sends, and --wire-overhead slows the queue" {
	at 1 1 0 1 | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --propagation 5ms
	[ "$(dumpolaf out.pcap | cut -d' ' -f1)" = 16000000 ]
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --wire-overhead
	[ "$(dumpolaf out.pcap | cut -d' ' -f1)" = $((1000000 + (78 + 24) * 8000000000 / SLOW)) ]
}

# Each frame takes 10 ms: one is being sent, one waits, a third merges with the
# second, and a fourth is replaced by a newer update of its worker.
@test "a time for each frame and each merge delays departures" {
	{ at 1 1 0 1; at 2 2 0 1; at 3 2 1 1; at 4 3 0 1; at 5 3 0 2; } | mkolaf >in.pcap
	left() { innet-switch -q -r in.pcap -w - --rate $SLOW "$@" | dumpolaf /dev/stdin | cut -d' ' -f1 | xargs; }
	[ "$(left)" = "11000000 21000000 31000000" ]
	[ "$(left --frame-time 3ms)" = "14000000 27000000 40000000" ]
	[ "$(left --merge-time 2ms)" = "15000000 25000000 35000000" ]
	[ "$(left --merge-time 2ms --frame-time 1us)" = "15001000 25002000 35003000" ]
	[ "$(left --queue fifo --frame-time 1ms)" = "12000000 23000000 34000000 45000000 56000000" ]
	run -2 --separate-stderr innet-switch -p iswitch -r in.pcap --frame-time=1us
	[ "$stderr" = "innet-switch: --frame-time needs --rate: without a rate no packet waits" ]
	run -2 --separate-stderr innet-switch -r in.pcap --rate 1M --queue fifo --merge-time=1us
	[ "$stderr" = "innet-switch: --merge-time needs --queue olaf" ]
}

# There are two ports: the merge at the first port delays its departure until
# after that of the second port.
@test "while a departure is delayed, packets of other ports leave first" {
	{ at 1 1 0 1; at 2 1 0 2; at 3 1 1 1; at 4 2 0 1 tos=0; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --merge-time 50ms
	dumpolaf out.pcap | cut -d' ' -f1 | sort -nc
}

@test "with propagation the output is still in order of time" {
	{ at 1 1 0 1; at 12 1 0 1 tos=0; at 20 1 0 2 tos=0; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --propagation 5ms
	[ "$(tcpdump -tt --nano -nr out.pcap 2>/dev/null | cut -d' ' -f1 | tr '\n' ' ')" = \
		"0.012000000 0.016000000 0.020000000 " ]
}

@test "--until leaves the rest queued, with an absolute time or one from the first packet" {
	{ for c in 1 2 3; do at $((c + 4)) $c 0 1; done; } | mkolaf >in.pcap
	for until in 25ms +20ms; do
		innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --until $until --report r.json
		[ "$(count r.json delivered)" -eq 2 ]
		[ "$(count r.json queued)" -eq 1 ]
	done
}

@test "several input files are merged by time, and the first file wins ties" {
	at 1 1 0 1 | mkolaf >a.pcap
	{ at 1 2 0 1; at 2 3 0 1; } | mkolaf >b.pcap
	innet-switch -q -r a.pcap -r b.pcap -w out.pcap --rate $SLOW
	[ "$(dumpolaf out.pcap | cut -d' ' -f3 | tr '\n' ' ')" = "1 2 3 " ]
	innet-switch -q -r b.pcap -r a.pcap -w out.pcap --rate $SLOW
	[ "$(dumpolaf out.pcap | cut -d' ' -f3 | tr '\n' ' ')" = "2 1 3 " ]
}

@test "V7: two switches feed a third one, as in the hand-checked vector" {
	{ at 1 1 0 1; at 2 2 0 1; at 3 2 1 1; at 21 2 0 2; } | mkolaf >1.pcap
	{ at 5 3 0 1; at 14 3 1 1; } | mkolaf >2.pcap
	for i in 1 2; do
		innet-switch -q -r $i.pcap -w $i.out --rate 156000 --slots 5 --propagation 1ms
	done
	innet-switch -q -r 1.out -r 2.out -w out.pcap --rate 31200 --propagation 1ms
	diff - <(dumpolaf out.pcap | cut -d' ' -f1,3,6,8) <<-E
		27000000 1 1 1000000
		47000000 2 2 3000000
		67000000 3 2 14000000
		87000000 2 1 21000000
	E
}

@test "bare packets: the prefix gives the cluster, and the five-tuple the worker" {
	printf 'prefix,cluster\n10.0.1.0/24,7\n10.0.0.0/16,8\n' >t.csv
	{ at 1 1 0 1 bare; at 2 2 0 1 bare; at 3 2 1 1 bare; at 4 2 1 2 bare; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --format bare --cluster-table t.csv \
		--report r.json
	[ "$(jq -c '[.clusters["7"].delivered.constituents, .clusters["8"].delivered.constituents]' \
		r.json)" = '[1,3]' ]
	run -1 innet-switch -r in.pcap -w out.pcap --format bare --cluster-table /dev/null
	printf '10.0.1.0/33,1\n' >t.csv
	run -1 --separate-stderr innet-switch -r in.pcap -w o --format bare --cluster-table t.csv
	[[ $stderr == *"t.csv:1: '10.0.1.0/33,1': not a prefix length" ]]
}

@test "--departures repeats the departures of another run and names the first difference" {
	{ at 1 1 0 1; at 2 2 0 1; at 30 3 0 1; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w fast.pcap --rate $SLOW
	innet-switch -q -r in.pcap -w again.pcap --rate 1G --departures fast.pcap
	cmp fast.pcap again.pcap
	at 5 9 9 9 | mkolaf >other.pcap
	run -0 --separate-stderr innet-switch -r in.pcap -w o.pcap --departures other.pcap
	[[ ${stderr_lines[0]} == *"other.pcap: packet 1: the switch would send a different frame"* ]]
}

@test "-c N stops after N packets and drains the queue" {
	{ for c in 1 2 3; do at $c $c 0 1; done; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w /dev/null --rate $SLOW -c 2 --report r.json
	[ "$(count r.json delivered)" -eq 2 ]
}

@test "a link so fast that frames take no time delivers all at once" {
	{ at 1 1 0 1; at 1 1 1 1; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate 1000000G --slots 1 --report r.json
	[ "$(count r.json dropped_full)" -eq 0 ]
}

@test "--memory refuses more slots than it allows, and --dry-run prints the memory needed" {
	run -1 --separate-stderr innet-switch --slots 100000 --memory 4GB
	[[ $stderr == "innet-switch: --slots 100000 needs "*" MB, but only 4000.0 MB are allowed; lower --slots or raise --memory" ]]
	run -0 innet-switch --dry-run
	[[ ${lines[0]} =~ ^[0-9.]+\ MB,\ of\ which\ [0-9.]+\ MB\ are\ taken\ at\ the\ start$ ]]
	[[ ${lines[2]} =~ ^[0-9.]+\ +8\ \ port\ slots$ ]]
	[ "$(innet-switch --dry-run --json | jq '.plan / 1000 | floor')" = "$(awk -v mb="${lines[0]%% *}" 'BEGIN { print int(mb * 1000) }')" ]
	run -1 --separate-stderr innet-switch --dry-run --memory 1MB
	[[ $stderr == "innet-switch: --memory: the switch needs 16.5 MB at the start, but only 1.0 MB are allowed; raise --memory" ]]
	big="-p iswitch --dry-run --json -H 4 --vector 6.4MB"
	innet-switch $big | jq -e '.plan == .later and .later > 1.1e8'
	innet-switch $big --memory 50MB | jq -e '.plan == 5e7 and .bytes < 2e7'
	innet-switch --dry-run --json | jq -e '.bytes > .parts["port slots"].bytes and .parts["port slots"].number == 8'
	# --memory limits neither the tables of destinations nor the plan for these
	innet-switch --dry-run --json --memory 17MB | jq -e '.parts["destinations of each port"].bytes as $d |
		$d > 1e7 and .plan == .later and .later == .bytes + $d'
}
