# Tests of innet-aom --program iswitch and dlp: the durations of iterations and
# steps.
bats_require_minimum_version 1.5.0
load iswitch

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# aom OPTION...: run innet-aom for program iswitch
aom() { innet-aom -q -p iswitch "$@"; }

# results MS ITERATION INDEX WORKER...: print the sum as it is sent to each of
# the workers
results() {
	for w in "${@:4}"; do
		echo "$(ns "$1") $S $(addr "$w") seg $2 $(($# - 3)) $3 1 1"
	done
}

# Print two iterations of two workers and two segments; worker 2 is the last by
# 3 ms in the first iteration, and by 1 ms in the second.
two() {
	segs 10 1 0 1; segs 11 1 1 1; segs 12 1 0 2; segs 14 1 1 2
	results 15 1 0 1 2; results 16 1 1 1 2
	segs 26 2 0 1; segs 27 2 1 1; segs 27 2 0 2; segs 28 2 1 2
	results 27.5 2 0 1 2; results 30 2 1 1 2
}

# Convert ms to ns; unlike ns() of iswitch.bash, this accepts fractions of a ms.
ns() { awk -v ms="$1" 'BEGIN { printf "%.0f", 1e11 + ms * 1e6 }'; }

@test "an iteration runs from its first segment to its last result" {
	{ joins 2 elements=4; two; } | sort -n | mkiswitch >two.pcap
	aom -r two.pcap --by iteration --csv --columns \
		iteration,iteration_ns,slowest,slowest_by_ns >out
	diff out - <<-END
		iteration,iteration_ns,slowest,slowest_by_ns
		1,6000000,2,3000000
		2,4000000,2,1000000
	END
}

@test "the parts of an iteration of each member are computing, sending, waiting and receiving" {
	{ joins 2 elements=4; two; } | sort -n | mkiswitch >two.pcap
	aom -r two.pcap --by member --csv --columns \
		worker,compute_ns,send_ns,wait_ns,receive_ns,aggregation_ns >out
	# the second worker's results begin half a ms after the last result of
	# the first worker
	diff out - <<-END
		worker,compute_ns,send_ns,wait_ns,receive_ns,aggregation_ns
		1,10000000,1000000,2250000,1750000,5000000
		2,11000000,1500000,500000,1500000,3500000
	END
	aom -r two.pcap --total --json >out
	[ "$(jq -c '[.iterations, .measured, .mean_iteration_ns, .max_iteration_ns]' out)" = \
		'[2,2,5000000,6000000]' ]
}

@test "figures that need packets missing from the capture are unknown" {
	{ joins 2 elements=4; two; } | sort -n | mkiswitch >two.pcap
	tcpdump -q -r two.pcap -w up.pcap dst host "${S%:*}" 2>/dev/null || skip 'no tcpdump'
	aom -r up.pcap --json --total >out
	[ "$(jq -c '[.iterations, .measured, .mean_iteration_ns, .wait_ns, .send_ns]' out)" = \
		'[2,0,null,null,1250000]' ]
}

@test "the times of a simulation equal those that innet-aom measures in the captures of its links" {
	jq -n '{ duration: "none", trainings: [ { name: "x", workers: 4, vector: "14640B",
		iterations: 20, rate: "8G", compute: "1ms", compute_shape: "uniform",
		capture: true } ] }' >s.json
	mkdir c && innet-sim -q --json -w c s.json >figures
	for k in 0 1 2 3; do echo -r c/x.$k.up.out.pcap -r c/x.$k.down.in.pcap; done >files
	# shellcheck disable=SC2046	# words
	aom $(cat files) --total --json >out
	# a gradient's first frame takes 1514 ns to leave; both are rounded
	jq -e --slurpfile s figures '.aggregation_ns + 1514 - $s[0].network_ns |
		. == 0 or . == 1' out
	[ "$(jq '.retransmitted + .helps' out)" -eq 0 ]
}

@test "innet-aom measures the steps in captures of the published DLP programs" {
	innet-aom -q -p dlp -r "$BATS_TEST_DIRNAME/../data/dlp-avg_agg_udp_bcast-5w.pcapng" \
		--json --total >out 2>err
	[ "$(jq -c '[.steps, .measured, .missing, .late]' out)" = '[100,100,0,0]' ]
}

@test "options of another program are misuse" {
	run -2 innet-aom -p iswitch --sent x
	[ "$output" = 'innet-aom: --sent cannot be used with --program iswitch' ]
	run -2 innet-aom --switch :1
	[ "$output" = 'innet-aom: --switch cannot be used with --program olaf' ]
	run -2 innet-aom -p dlp --by member
	run -2 innet-aom -p iswitch --by iteration --total
	run -2 innet-aom -p iswitch --columns mean_age_ns
}

# same PROGRAM FILE...: check that innet-aom and its twin in Python print the
# same figures
same() {
	local files=() f
	for f in "${@:2}"; do files+=(-r "$f"); done
	innet-aom -q -p "$1" "${files[@]}" --json --total >of-all 2>err
	innet-aom -q -p "$1" "${files[@]}" --json \
		--by $([ "$1" = dlp ] && echo step || echo iteration) >of-each 2>err
	"$py" "$BATS_TEST_DIRNAME/../twins/aom_twin.py" "$@" >twin
	jq -e -n --slurpfile a of-all --slurpfile e of-each --slurpfile t twin '
		($a[0] | with_entries(.key |= (sub("_(step|iteration)_ns$"; "") |
			{ steps: "iterations", vectors_seen: "segments" }[.] // .))) as $got |
		($t[0][0] | del(.by_iteration)) as $want |
		[$want | to_entries[] | select(.value != null and .value != 0 and
			(.key as $key | $got | has($key)) and ([.value, $got[.key]] | map(. * 1e5 | round) | .[0] != .[1]))] as $wrong |
		[$e[] | .iteration_ns, .step_ns | values] as $each |
		[$t[0][0].by_iteration // [] | .[] | values] as $times |
		if $wrong == [] and (($times | length) == 0 or $each == $times) then true
		else ($wrong | debug | false) end'
}

# simulated KEYS: simulate a training of 4 workers; `files` gets the names of
# the captures of its links
simulated() {
	jq -n "{ duration: \"none\", trainings: [ { name: \"x\", workers: 4, vector: \"14640B\",
		iterations: 60, rate: \"8G\", compute: \"1ms\", compute_shape: \"uniform\",
		capture: true } + { $1 } ] }" >s.json
	rm -rf c && mkdir c && innet-sim -q --json -w c s.json >figures
	files=(c/x.?.up.out.pcap c/x.?.down.in.pcap)
}

@test "a twin in Python computes the same figures for simulated jobs, also with losses" {
	python
	simulated ''
	same iswitch "${files[@]}"
	same iswitch c/x.switch.in.pcap c/x.switch.out.pcap
	simulated 'loss: "2%"'
	same iswitch "${files[@]}"
	[ "$(jq .retransmitted of-all)" -gt 0 ]
	same iswitch c/x.switch.in.pcap c/x.switch.out.pcap
}

@test "asynchronous: innet-aom, the simulator and the twin compute the same staleness" {
	python
	simulated 'mode: "async"'
	same iswitch "${files[@]}"
	[ "$(jq .mean_staleness of-all)" = "$(jq .mean_staleness figures)" ]
	[ "$(jq -s length of-each)" -ge 60 ]
	simulated 'mode: "async", compute_shape: "exponential", loss: "1%"'
	same iswitch "${files[@]}"
}

@test "asynchronous server: innet-aom and the simulator agree on staleness if the captures have all workers" {
	python
	simulated 'approach: "ps", mode: "async", compute_shape: "exponential"'
	same iswitch "${files[@]}"
	[ "$(jq .mean_staleness of-all)" = "$(jq .mean_staleness figures)" ]
	jq -e '.mean_staleness > 1' of-all
	innet-aom -q -p iswitch -r c/x.0.up.out.pcap -r c/x.0.down.in.pcap --json --total |
		jq -e '.mean_staleness == null and .max_staleness == null'
}

@test "the repair time runs from the first sign of a loss to the last result" {
	python
	simulated 'loss: "2%"'
	same iswitch "${files[@]}"
	innet-aom -q -p iswitch -r c/x.switch.in.pcap -r c/x.switch.out.pcap --json --by iteration |
		jq -se '[.[] | select(.repair_ns != null)] | length > 3 and
			all(.repair_ns < .iteration_ns)'
	[ "$(jq '.repaired > 3 and .repair_ns > 0' of-all)" = true ]
	simulated ''
	same iswitch "${files[@]}"
	[ "$(jq -c '[.repaired, .repair_ns]' of-all)" = '[0,null]' ]
}

@test "the twin computes the same figures for the published DLP programs" {
	python
	for f in "$BATS_TEST_DIRNAME"/../data/dlp-*.pcapng; do same dlp "$f"; done
	innet-gen -q --program dlp --workers 5 -c 50 --vector 99 --jitter 300us -w in.pcap
	innet-switch -q -p dlp -r in.pcap -w out.pcap
	same dlp in.pcap out.pcap
	[ "$(jq .steps of-all)" -eq 50 ]
}

# remade HOW: convert in.pcap (Ethernet and IPv4) to out.pcap. "super" joins up
# to four datagrams of one sender in a frame; "cut" truncates frames to 60
# bytes.
remade() {
	"$py" - "$1" <<-'END'
		import struct, sys
		data, out, at, last = open('in.pcap', 'rb').read(), [], 24, {}
		while at < len(data):
		    s, ns, n, _ = struct.unpack('<4I', data[at:at + 16])
		    f, at = data[at + 16:at + 16 + n], at + 16 + n
		    flow = f[26:38]
		    if sys.argv[1] == 'super' and f[15] == 0x1c and flow in last and last[flow][3] < 4:
		        last[flow][2] += f[42:]
		        last[flow][3] += 1
		    else:
		        last[flow] = [s, ns, f, 1]
		        out.append(last[flow])
		    if n < 1500:
		        last.pop(flow)          # a shorter datagram is the last of a frame
		with open('out.pcap', 'wb') as w:
		    w.write(data[:24])
		    for s, ns, f, many in out:
		        f = bytearray(f)
		        if many > 1:
		            f[16:18], f[38:42] = struct.pack('>H', len(f) - 14), struct.pack('>HH', len(f) - 34, 0)
		            f[24:26] = b'\0\0'
		            total = sum(struct.unpack('>10H', f[14:34]))
		            f[24:26] = struct.pack('>H', 0xffff - total % 0xffff)
		        have = 60 if sys.argv[1] == 'cut' else len(f)
		        w.write(struct.pack('<4I', s, ns, min(have, len(f)), len(f)) + bytes(f[:have]))
	END
}

@test "innet-aom measures each datagram of a joined frame, and needs only the headers" {
	python
	innet-gen -q --program iswitch --clusters 1 --workers 3 --vector ppo -c 4 -w in.pcap
	innet-switch -q -p iswitch -r in.pcap -w sums.pcap
	aom -r in.pcap -r sums.pcap --total --json >whole
	remade super
	[ "$(stat -c %s out.pcap)" -lt "$(stat -c %s in.pcap)" ]
	aom -r out.pcap -r sums.pcap --total --json >got
	keys='[.iterations, .measured, .segments, .results, .retransmitted, .bytes_up]'
	diff <(jq -c "$keys" whole) <(jq -c "$keys" got)
	remade cut
	aom -r out.pcap -r sums.pcap --total --json >got
	# a truncated Join does not count as a Join
	diff <(jq 'del(.bytes_up)' whole) <(jq 'del(.bytes_up)' got)
}

@test "innet-aom counts a packet once if several captures contain it" {
	simulated 'loss: "2%"'
	aom -r c/x.switch.in.pcap -r c/x.switch.out.pcap --json --total >one
	aom -r c/x.switch.in.pcap -r c/x.0.up.in.pcap -r c/x.switch.out.pcap --json --total >two
	[ "$(jq .copies two)" -gt 500 ]
	keys='[.iterations, .measured, .segments, .results, .mean_iteration_ns]'
	diff <(jq -c "$keys" one) <(jq -c "$keys" two)
}

@test "--from and --until select packets; innet-aom warns if it recognises none, and fails with --strict" {
	simulated ''
	aom -r c/x.switch.in.pcap -r c/x.switch.out.pcap --from +10ms --until +20ms --json --total >out
	jq -e '.iterations > 5 and .iterations < 15 and .measured >= .iterations - 2' out
	innet-gen -q -c 3 -w olaf.pcap
	run -0 aom -r olaf.pcap
	[[ $output == *'none of '*' packets belongs to program iswitch'* ]]
	run -1 aom --strict -r olaf.pcap
	run -0 aom -v -r olaf.pcap
	[[ $output == *'olaf.pcap: 81 packets, 81 regular, 0 frames'* ]]
	run -1 innet-aom -p dlp --strict -r olaf.pcap
}

@test "--switch names the switch if no packet shows its address" {
	# one worker, no Join, and a port that innet does not use
	for t in 1 2 3; do
		echo "${t}0000000 10.0.0.2:700 10.0.0.1:900 seg $t 1 0 1 1"
		echo "${t}0500000 10.0.0.1:900 10.0.0.2:700 seg $t 1 0 1 1"
	done | mkiswitch >one.pcap
	run -0 --separate-stderr innet-aom -p iswitch -r one.pcap --csv
	[[ $stderr == *'unplaced 6 '* ]]
	aom -r one.pcap --switch 10.0.0.1:900 --csv --columns measured,mean_iteration_ns >out
	[ "$(sed -n 2p out)" = 3,500000 ]
}
