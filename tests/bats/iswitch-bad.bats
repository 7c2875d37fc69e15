# Tests of the aggregation switch as a filter: its options, its counters, and
# bad input. The inputs are the captures with which the fuzz target starts.
load common

# capture NAME: copy one of these captures without its first three bytes, which
# are settings
capture() { tail -c +4 "$srcdir/tests/fuzz/corpus/iswfilter/$1" >in.pcap; }

filter() { innet-switch -q -p iswitch -r in.pcap -w out.pcap --report r.json "$@"; }

misuse() {
	run -2 --separate-stderr innet-switch "$@" </dev/null
	[ "${#stderr_lines[@]}" -eq 1 ]
}

# frames FILE: print the number of frames that tcpdump finds in a capture
frames() { tcpdump -nr "$1" 2>/dev/null | wc -l; }

@test "an option that the program does not have is misuse" {
	for o in --upstream=:9 --format=innet --active-window=1s; do
		misuse -p iswitch $o
		[[ "$stderr" == "innet-switch: ${o%=*} cannot be used with --program iswitch"* ]]
	done
	for o in --slots=8 --queue=fifo --wire-overhead --regular=queued; do
		misuse -p iswitch $o
		[[ "$stderr" == "innet-switch: ${o%=*}"*" needs --rate: without a rate no packet waits" ]]
	done
	misuse -p iswitch --rate 1M --combine sum
	[ "$stderr" = "innet-switch: --combine needs --queue olaf" ]
	misuse -p iswitch --seed 3
	for o in -H2 --async --reduce=sum --straggler=1s --parent=:9 --members=2 --keep=9; do
		misuse $o
		[[ "$stderr" == *" cannot be used with --program olaf" ]]
	done
	misuse -H 2 --queue fifo
	[ "$stderr" = "innet-switch: --threshold cannot be used with --program olaf" ]
}

@test "options that contradict each other are misuse" {
	misuse -p iswitch --reduce median --parent :9
	[ "$stderr" = "innet-switch: --reduce median and --reduce trimmed cannot be used with --parent: a median of medians is not the median" ]
	misuse -p iswitch --reduce trimmed:1 --parent :9
	misuse -p iswitch --fixed-bits 3
	misuse -p iswitch --async --straggler 1s
	misuse -p iswitch --parent '[::1]:9'
	misuse -p iswitch --parent 10.255.255.1
	misuse -p iswitch --listen 10.0.0.1:0 -r in.pcap
	misuse -p iswitch --floats 8
	misuse -p iswitch --dry-run
	misuse -p iswitch --write-in x.pcap
	misuse -p iswitch --listen :0 --members 2
}

@test "--keep is a number of results, and with --async a number of bytes" {
	misuse -p iswitch --keep 4kB
	misuse -p iswitch --keep 0
	capture two-iterations
	filter --keep 4
	filter --async --keep 4kB
}

@test "each packet and each segment is counted exactly once" {
	for c in two-iterations commands comes-back timed-out others bad stranger; do
		capture $c
		filter
		jq -e '.packets == .taken + .own + .regular + .passed + ([.ignored[]] | add // 0)' r.json
		jq -e '[.jobs[].counters | .segments == .added + .duplicate + .late + .early
			+ .resent + .stale + .mismatched + .halted + .no_memory] | all' r.json
	done
}

@test "the report lists the jobs, and the summary gives the same figures in a line" {
	capture two-iterations
	run -0 --separate-stderr innet-switch -p iswitch -r in.pcap -w out.pcap --report r.json
	[ "$stderr" = "innet-switch: 12 segments in, 12 added, 4 results, 0 partial, 0 unfinished, 0 resent, 0 timed out, 0 foreign; 1 regular, 0 ignored, 15 out, 3 requests" ]
	jq -e '.jobs["1"] | .unfinished == 0 and .members == 3 and .counters.results == 4' r.json
	run -0 --separate-stderr innet-switch -p iswitch -r in.pcap -w out.pcap --json
	[ "$output" = "$(jq -c . r.json)" ]
}

@test "the filter passes packets for others and skips those that the switch sent" {
	capture others
	filter
	jq -e '.own == 1 and .passed == 1 and .regular == 2 and .taken == 1' r.json
	jq -e '.ignored == {"length": 1, "fragment": 1, "checksum": 1}' r.json
	filter --listen 10.9.9.9
	jq -e '.taken == 1 and .own == 0 and .passed == 5 and .regular == 2' r.json
}

@test "each host has a link of its own" {
	command -v tcpdump >/dev/null || skip "no tcpdump"
	capture two-iterations
	filter --rate 1M
	stamps=$(tcpdump --nano -tt -nr out.pcap 'udp and src port 46638 and len >= 66' | cut -d' ' -f1)
	[ "$(uniq -c <<<"$stamps" | awk '{ print $1 }' | sort -u | xargs)" = 3 ]
	one=$(tcpdump --nano -tt -nr out.pcap 'dst host 10.0.1.2' | wc -l)
	[ "$one" -eq 5 ]
}

@test "--wire-overhead and --propagation change timestamps and nothing else" {
	command -v tcpdump >/dev/null || skip "no tcpdump"
	capture two-iterations
	filter --rate 8M
	first() { tcpdump --nano -tt -nr out.pcap 'src port 46638' 2>/dev/null | head -n 1 | cut -d' ' -f1; }
	a=$(first); filter --rate 8M --propagation 1ms; b=$(first)
	filter --rate 8M --wire-overhead; c=$(first)
	# compare in nanoseconds, after removing the decimal point
	[ $((${b/./} - ${a/./})) -eq 1000000 ]
	[ $((${c/./} - ${a/./})) -eq 24000 ]
}

@test "--until stops the clock, and packets that have not left remain queued" {
	capture two-iterations
	filter --rate 1k --until +2s
	jq -e '.out < 15 and .out + .queued == 15' r.json
}

@test "a time-out after the last packet fires only with --until" {
	capture stragglers
	filter --straggler 50ms -c 6
	jq -e '.jobs["1"] | .unfinished == 2 and .counters.results == 0' r.json
	filter --straggler 50ms -c 6 --until +9s
	jq -e '.jobs["1"] | .unfinished == 0 and .counters.results == 2' r.json
}

@test "-c N stops after N packets" {
	capture two-iterations
	filter -c 9
	jq -e '.packets == 9 and .jobs["1"].counters.segments == 5' r.json
}

@test "--memory refuses a Join with status 2, and other jobs continue" {
	capture no-room
	filter --memory 100kB
	jq -e '.switch.refused == 2 and .jobs["1"].members == 2' r.json
	filter
	jq -e '.switch.refused == 2' r.json
}

@test "--dry-run prints the memory of one job and its parts" {
	run -0 --separate-stderr innet-switch -p iswitch --dry-run --vector 1000 --floats 100 -H 4
	[ -z "$stderr" ]
	[ "${lines[2]}" = "0.00816       2  vectors" ]
	[[ ${lines[3]} =~ ^\ *([0-9.]+)\ +20\ \ segment\ slots$ ]]
	need=$(awk -v a="${BASH_REMATCH[1]}" 'BEGIN { print 8160 + a * 1e6 }')
	[[ ${lines[4]} =~ ^\ *([0-9.]+)\ +16\ \ kept\ results,\ as\ they\ come$ ]]
	[ "${lines[0]}" = "$(awk -v a="$need" -v b="${BASH_REMATCH[1]}" 'BEGIN { printf "%.6g MB, of which %.6g MB are taken at the start", a / 1e6 + b, a / 1e6 }')" ]
	run -0 innet-switch -p iswitch --dry-run --vector 1000 --floats 100 -H 4 --json
	[ "$(jq -c '[.bytes, .parts.vectors.bytes]' <<<"$output")" = "[$need,8160]" ]
	run -0 innet-switch -p iswitch --dry-run --vector 1000 --async --keep 1MB -H 4
	[[ $output == *"  4  members' pushes" ]]
}

@test "a child has a port for each job, on which it also receives packets of the parent" {
	capture child
	filter --parent 10.255.255.2 --parent 10.255.255.9
	[ "$(jq '.jobs["1"].counters.sent_up' r.json)" -ge 0 ]
	command -v tcpdump >/dev/null || skip "no tcpdump"
	tcpdump -nr out.pcap 2>/dev/null | grep -q '10.255.255.1.46640 > 10.255.255.2.46638'
	run ! grep -q 10.255.255.9 <(tcpdump -nr out.pcap 2>/dev/null)
}

@test "a truncated capture: the filter sums the complete packets and names the bad one, status 1" {
	capture two-iterations
	head -c -5 in.pcap >cut.pcap
	run -1 --separate-stderr innet-switch -p iswitch -r cut.pcap -w out.pcap --json
	[[ ${stderr_lines[0]} == "innet-switch: cut.pcap: packet 16: truncated dump file; "* ]]
	jq -e '.jobs["1"].counters.added == 11' <<<"$output"
}

@test "a capture needs a header, and can be without packets" {
	run -1 --separate-stderr innet-switch -p iswitch -r /dev/null -w out.pcap
	[ "$stderr" = "innet-switch: /dev/null: the file is empty; it has not even a header" ]
	capture others
	head -c 24 in.pcap >none.pcap
	run -0 innet-switch -q -p iswitch -r none.pcap -w out.pcap
	[ "$(stat -c %s out.pcap)" -eq 24 ]
}

@test "a full disk: one error line, status 1" {
	capture two-iterations
	[ -w /dev/full ] || skip "no /dev/full"
	run -1 --separate-stderr innet-switch -q -p iswitch -r in.pcap -w /dev/full
	[ "$stderr" = "innet-switch: /dev/full: the output is incomplete: No space left on device" ]
	run -1 --separate-stderr innet-switch -q -p iswitch -r in.pcap -w out.pcap --report /dev/full
	[ "$stderr" = "innet-switch: /dev/full: cannot write the report: No space left on device" ]
}

@test "a closed pipe: one line, status 1" {
	innet-gen -q --clusters 9 -c 5000 -w in.pcap
	run -1 bash -c 'set -o pipefail; innet-switch -q -p iswitch -r in.pcap 2>err | head -c 100 >/dev/null'
	[ "$(cat err)" = "innet-switch: standard output: the output is incomplete: Broken pipe" ]
}

@test "other traffic in a large trace passes unchanged" {
	innet-gen -q --clusters 3 --workers 3 -c 50 -w in.pcap
	filter
	cmp in.pcap out.pcap
	[ "$(jq .regular r.json)" -eq "$(jq .packets r.json)" ]
}

@test "two input files are read as one trace" {
	capture two-iterations
	head -c 24 in.pcap >none.pcap
	filter
	cp out.pcap once.pcap
	innet-switch -q -p iswitch -r none.pcap -r in.pcap -w out.pcap
	cmp once.pcap out.pcap
	innet-switch -q -p iswitch <in.pcap >out.pcap
	cmp once.pcap out.pcap
}
