# Tests of innet-aom: age, loss and fairness, computed from captures.
bats_require_minimum_version 1.5.0

# Write Olaf's vector V1: the updates sent, and the updates that arrived, with
# times in ms.
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	ms 1 1 0 1 1 1  2 2 0 1 1 2  3 2 0 2 1 3  4 2 1 1 1 4  5 2 1 2 1 5 \
		6 1 1 1 1 6 | mkolaf >sent.pcap
	ms 11 1 0 1 1 1  21 2 1 2 3 5  31 1 1 1 1 6 | mkolaf >got.pcap
}

# ms NUMBER...: print lines for mkolaf; each six numbers are time, cluster,
# worker, sequence number, merged and generation time, with times in ms
ms() {
	printf '%d000000 %d %d %d %d %d000000 0 4\n' "$@"
}

aom() {
	innet-aom -q "$@"
}

@test "ages from 0 equal those of Olaf's vector V1" {
	aom -r got.pcap --from 0 --end capture --json >out
	[ "$(jq -c '[.cluster,.received,.merged,.mean_age_ns]' out)" = \
'[1,2,2,14854839]
[2,1,3,13887097]
["all",3,5,14370968]' ]
	[ "$(jq -s '.[0].mean_peak_age_ns, .[1].max_peak_age_ns' out)" = \
'20500000
21000000' ]
}

@test "innet-aom finds the oldest constituents of V1 in the sent updates" {
	aom -r got.pcap --from 0 --end capture --sent sent.pcap --constituents oldest --json >out
	[ "$(jq -s '.[1].mean_age_ns' out)" -eq 14532258 ]
	[ "$(jq -s '.[0].mean_age_ns' out)" -eq 14854839 ]
}

@test "innet-aom finds the oldest constituents of V7, behind two switches" {
	ms 1 1 0 1 1 1  2 2 0 1 1 2  3 2 1 1 1 3  5 3 0 1 1 5  14 3 1 1 1 14 \
		21 2 0 2 1 21 | mkolaf >sent.pcap
	ms 27 1 0 1 1 1  47 2 1 1 2 3  67 3 1 1 2 14  87 2 0 2 1 21 |
		mkolaf >got.pcap
	aom -r got.pcap --from 0 --end capture --sent sent.pcap --constituents oldest --json >out
	[ "$(jq -c .mean_age_ns out | head -3 | xargs)" = \
		"42810345 42580460 42350575" ]
}

@test "a delivery without a sent update is counted and used for ages" {
	ms 9 1 7 7 1 4 | mkolaf >odd.pcap
	run -0 innet-aom -r odd.pcap --sent sent.pcap --constituents oldest --csv
	[[ $output == *"; unmatched 1;"* ]]
}

@test "losses are the updates sent without those merged, by cluster and in total" {
	aom -r got.pcap --sent sent.pcap --json >out
	[ "$(jq -c '[.sent,.lost,.loss_percent]' out | xargs)" = \
		"[2,0,0] [4,1,25] [6,1,16.6667]" ]
}

@test "with a switch report, innet-aom splits the losses; loss counts only drops" {
	cat >report.json <<-'E'
	{"totals":{"arrived":{"packets":6,"constituents":6},"superseded":{"packets":1,"constituents":1},"dropped_full":{"packets":2,"constituents":3}},
	"clusters":{"2":{"arrived":{"packets":4,"constituents":4},"superseded":{"packets":1,"constituents":1}},"9":{"arrived":{"packets":2,"constituents":2},"dropped_limit":{"packets":2,"constituents":2}}}}
	E
	aom -r got.pcap --counters report.json --json >out
	[ "$(jq -c '[.cluster,.sent,.superseded,.dropped,.loss_percent]' out | xargs)" = \
		"[1,0,0,0,0] [2,4,1,0,0] [9,2,0,2,100] [all,6,1,3,50]" ]
	run -0 innet-aom -r got.pcap --counters report.json
	[[ $output == *"loss 50.00 % counts only dropped updates"* ]]
	run -0 innet-aom -r got.pcap --sent sent.pcap
	[[ $output == *"counts dropped and superseded updates"* ]]
}

@test "innet-aom names a damaged report" {
	for s in '' '{' '[]' '{"totals":1}' '{"totals":{"arrived":7}}' \
		'{"totals":{},"clusters":[{}]}' '{"totals":{},"clusters":{"x":{}}}' \
		'{"totals":{"arrived":{"constituents":-1}}}'; do
		echo "$s" >r.json
		run -1 innet-aom -r got.pcap --counters r.json
		[[ $output == "innet-aom: r.json:"* ]]
	done
}

@test "with --sent, a cluster without deliveries counts with the whole span" {
	ms 2 3 0 1 1 2 | mkolaf >more.pcap
	aom -r got.pcap --sent more.pcap --end capture --json >out
	[ "$(jq -c 'select(.cluster == 3) | [.received,.mean_age_ns,.max_age_ns,.mean_peak_age_ns]' out)" = \
		'[0,14500000,29000000,null]' ]
}

@test "ages end with the later capture, or at --until" {
	ms 1 1 0 1 1 1  41 7 0 1 1 41 | mkolaf >late.pcap
	aom -r got.pcap --sent late.pcap --end capture --json >out
	[ "$(jq 'select(.cluster == 1) .max_age_ns' out)" -eq 35000000 ]
	aom -r got.pcap --until 51ms --json >out
	[ "$(jq 'select(.cluster == 1) .max_age_ns' out)" -eq 45000000 ]
	aom -r got.pcap --until +10ms --json >out
	[ "$(jq -c '[.cluster,.received]' out | xargs)" = "[1,1] [2,1] [all,2]" ]
	aom -r got.pcap --until +9999999ns --json >out
	[ "$(jq -s '.[-1].received' out)" -eq 1 ]
}

@test "--from accepts first, sent, a time, and a time after the first packet" {
	for f in first:22500000 sent:22500000 +1ms:22000000 12ms:22500000; do
		aom -r got.pcap --sent sent.pcap --from "${f%:*}" --json >out
		jq -c '[.cluster,.mean_age_ns,.max_age_ns]' out
	done >all
	[ "$(sed -n '1p;4p;7p;10p' all | xargs)" = \
"[1,20000000,30000000] [1,15000000,30000000] [1,14500000,29000000] [1,9500000,19000000]" ]
	run -2 innet-aom -r got.pcap --from sent
	run -2 innet-aom -r got.pcap --from 5s --until 4s
	run -2 innet-aom -r got.pcap --from soon
}

@test "an empty capture: every key is printed, nothing received, status 0" {
	mkolaf </dev/null >empty.pcap
	run -0 --separate-stderr innet-aom -r empty.pcap --json
	[ "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")" = "cluster received merged sent lost loss_percent superseded dropped mean_age_ns p50_age_ns p95_age_ns p99_age_ns max_age_ns mean_peak_age_ns max_peak_age_ns jain" ]
	[ "$(jq .received <<<"$output")" -eq 0 ]
	aom -r empty.pcap --sent empty.pcap
	run -1 innet-aom -r /dev/null
	[[ $output == "innet-aom: /dev/null: the file is empty"* ]]
}

@test "every reason for ignoring a packet has a name" {
	for w in fragment sum=bad cut=73 lie short=31 version=2 kind=9 extra=4 \
		nan; do
		echo "1000 1 1 1 1 900 0 4 $w"
	done | mkolaf >bad.pcap
	echo '2000 1 1 1 0 900 0 4' | mkolaf >zero.pcap
	run -0 innet-aom -r bad.pcap --csv
	[[ $output == *"ignored 9: 1 short, 1 version, 1 kind, 2 length, 1 nonfinite, 1 fragment, 1 checksum, 1 snaplen"* ]]
	run -0 innet-aom -r bad.pcap --sent zero.pcap --csv
	[[ $output == *"ignored 10: of bad.pcap 1 short, 1 version, 1 kind, 2 length, 1 nonfinite, 1 fragment, 1 checksum, 1 snaplen; of zero.pcap 1 merged"* ]]
}

@test "innet-aom accepts checksums of 0 and of the pseudo header alone, any ECN bits and any port" {
	printf '1000 1 1 1 1 900 0 4 %s\n' sum=none sum=pseudo tos=0x2f \
		dport=9 v6 | mkolaf >ok.pcap
	[ "$(aom -r ok.pcap --json | tail -1 | jq .received)" -eq 5 ]
}

@test "innet-aom skips models, weights and other traffic" {
	printf '1000 1 1 1 1 900 0 4 %s\n' kind=2 kind=3 tos=0x28 kind=1 |
		mkolaf >mix.pcap
	run -0 innet-aom -r mix.pcap --json
	[[ $output == *"ignored 0"*'"received":1,'* ]]
}

@test "every link type gives the same figures" {
	for l in ethernet vlan raw sll sll2 null ppp hdlc pppoe wifi radiotap; do
		ms 11 1 0 1 1 1  31 1 1 1 1 6 | mkolaf -l "$l" >l.pcap
		aom -r l.pcap --csv | tee "$l.csv" | md5sum
	done | sort -u | wc -l | grep -qx 1
	grep -q '^1,2,2,' radiotap.csv
}

@test "a filter finds UDP in frames of each link type, also in short PPP frames" {
	# except for 802.11 with a padded header, which libpcap does not
	# recognise
	for l in ethernet vlan raw sll sll2 null ppp hdlc pppoe wifi; do
		ms 11 1 0 1 1 1  31 1 1 1 1 6 | mkolaf -l "$l" >l.pcap
		filter='udp port 46638'
		[ $l != vlan ] || filter="vlan and $filter"
		innet-replay -q -r l.pcap -w out.pcap --filter "$filter" --json >out.json
		[ "$(jq .packets out.json)" -eq 2 ]
		innet-replay -q -r l.pcap -w out.pcap --filter "not ($filter)" --json >out.json
		[ "$(jq .packets out.json)" -eq 0 ]
		[ "$(aom -r l.pcap --filter "$filter" --json | tail -1 | jq .received)" -eq 2 ]
	done
}

@test "every tool names a link type that it does not support, and refuses it" {
	ms 11 1 0 1 1 1 | mkolaf -l 195 >l.pcap
	editcap -F pcapng l.pcap l.pcapng
	for f in l.pcap l.pcapng; do
		want="$f: link type IEEE802_15_4* is not supported; supported are Ethernet, "
		run -1 innet-aom -r $f; [[ $output == "innet-aom: "$want* ]]
		run -1 innet-aom -r got.pcap --sent $f; [[ $output == *$want* ]]
		run -1 innet-switch -r $f -w out.pcap; [[ $output == *$want* ]]
		run -1 innet-replay -r $f -w out.pcap; [[ $output == *$want* ]]
		run -1 innet-plot age -w out.svg $f; [[ $output == *$want* ]]
	done
}

@test "innet-aom treats an impossible timestamp as damage and warns about one that leaps" {
	for at in 130 134; do		# the seconds of the second record, and their fraction
		cp got.pcap odd.pcap
		printf '\377\377\377\377' |
			dd of=odd.pcap bs=1 seek=$at conv=notrunc status=none
		run innet-aom -q -r odd.pcap
		echo "$status ${lines[0]}"
	done >all
	grep -q "^0 innet-aom: odd.pcap: packet 2: its timestamp is a year or more after that of the previous packet (number of such packets: 1)$" all
	grep -q "^1 innet-aom: odd.pcap: packet 2: its timestamp has 4294967295 nanoseconds, which is a second or more$" all
}

@test "innet-aom counts a packet once that a cooked capture of the loopback contains twice" {
	ms 11 1 0 1 1 1  31 1 1 1 1 6 | mkolaf >want.pcap
	ms 11 1 0 1 1 1  31 1 1 1 1 6 | sed 'p;s/$/ outgoing/' | mkolaf -l sll2 >l.pcap
	run -0 --separate-stderr innet-aom -q -r l.pcap --csv
	[ "$output" = "$(aom -r want.pcap --csv)" ]
	[ "$stderr" = "innet-aom: l.pcap: 2 of 4 packets were captured twice, when they were sent over the loopback and when they were received; each counts once" ]
}

@test "timestamps that go back: one warning names the first packet, status 0" {
	ms 30 1 0 1 1 1  20 1 0 2 1 19  25 1 0 3 1 24  40 1 0 4 1 39 |
		mkolaf >back.pcap
	run -0 --separate-stderr innet-aom -q -r back.pcap --json
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *"back.pcap: packet 2: its timestamp is earlier than that of the previous packet"* ]]
	[ "$(jq -s '.[0].max_age_ns' <<<"$output")" -eq 29000000 ]
}

@test "an update generated after its arrival has age 0 and is counted" {
	ms 10 1 0 1 1 12  20 1 0 2 1 18 | mkolaf >ahead.pcap
	run -0 innet-aom -r ahead.pcap --json
	[[ $output == *"clock_ahead 1;"*'"max_age_ns":10000000,'* ]]
}

@test "a truncated capture: innet-aom counts the complete packets, status 1" {
	head -c 300 got.pcap >cut.pcap
	run -1 --separate-stderr innet-aom -r cut.pcap --json
	[[ $stderr == *"cut.pcap: packet 3: truncated dump file"* ]]
	[ "$(tail -1 <<<"$output" | jq .received)" -eq 2 ]
}

@test "--by worker prints a row for each worker; its losses are known until updates merge" {
	aom -r sent.pcap --sent sent.pcap --by worker --json >out
	[ "$(jq -c '[.cluster,.worker,.received,.lost]' out | xargs)" = \
"[1,0,1,0] [1,1,1,0] [2,0,2,0] [2,1,2,0] [all,null,6,0]" ]
	aom -r got.pcap --sent sent.pcap --by worker --json >out
	[ "$(jq -c .lost out | xargs)" = "null null null null 1" ]
	aom -r got.pcap --by worker | grep -q '^2\.1 '
}

@test "each range of a vector in several packets has its own age, and rows combine them" {
	{
		echo '10 1 0 1 1 0 0 8 n=4 following=1'
		echo '20 1 0 1 1 0 0 8 n=4'
		echo '30 1 0 2 1 30 0 8 n=4'
	} | mkolaf >ranges.pcap
	aom -r ranges.pcap --json >out
	[ "$(jq -s -c '.[0] | [.received,.mean_age_ns,.max_age_ns]' out)" = \
		'[3,22,30]' ]
	aom -r ranges.pcap --series s.csv
	[ "$(cut -d, -f1 s.csv | sort -u | xargs)" = "1 1/1 cluster" ]
}

@test "only one output can use standard output, and only one capture standard input" {
	only() {
		run -2 --separate-stderr innet-aom "${@:2}" <got.pcap
		[ "$output$stderr" = "innet-aom: $1" ]
	}
	only "the table and --series both write standard output" -r got.pcap --series -
	only "-r and --sent both read standard input" --sent -
	only "--sent and --compare both read standard input" -r got.pcap --sent - --compare got.pcap
	mkfifo pipe
	only "--sent and --compare both read pipe" -r got.pcap --sent pipe --compare got.pcap
}

@test "--series prints the sawtooth of the age, with a point before and after each fall" {
	aom -r got.pcap --from 0 --end capture --series s.csv
	[ "$(grep '^2,' s.csv | xargs)" = \
		"2,0,0 2,21000000,21000000 2,21000000,16000000 2,31000000,26000000" ]
	[ "$(head -1 s.csv)" = cluster,time_ns,age_ns ]
	run -1 innet-aom -q -r got.pcap --series no/such.csv
	[[ $output == *"innet-aom: no/such.csv: No such file"* ]]
}

@test "--compare prints both runs and the ratio of each figure" {
	ms 12 1 0 1 1 1 62 1 1 1 1 12 | mkolaf >other.pcap
	aom -r got.pcap --from 0 --compare other.pcap --json >out
	[ "$(jq -c '[.cluster,.run.received,.other.received,.ratio.max_age_ns]' out | xargs)" = \
		"[1,2,2,0.491803] [2,1,null,null] [all,3,2,0.491803]" ]
	aom -r got.pcap --from 0 --compare other.pcap --csv |
		grep -q '^all,max_age_ns,30000000,61000000,0.49'
	aom -r got.pcap --compare got.pcap | grep -q '^all  *jain .* 1$'
}

@test "bare packets: the prefix gives the cluster, and the time of sending is the generation time" {
	printf 'prefix,cluster\n10.0.1.0/24,1\n10.0.0.0/16,5\n10.0.1.2/32,2\n' >t.csv
	{
		echo '1000 1 0 1 1 0 1.5 4 bare'
		echo '2000 1 1 1 1 0 2.5 4 bare'
		echo '3000 9 1 1 1 0 3.5 4 bare'
		echo '4000 0 0 1 1 0 3.5 4 bare src=192.0.2.1'
	} | mkolaf >b.pcap
	sed 's/^/9/' <<-'E' | mkolaf >d.pcap
	000 1 0 1 1 0 1.5 4 bare
	100 1 1 1 1 0 2.5 4 bare
	200 9 1 1 1 0 7.5 4 bare
	E
	run -0 innet-aom -r d.pcap --sent b.pcap --format bare \
		--cluster-table t.csv --end capture --json
	[[ $output == *"ignored 0"* ]]
	[ "$(grep '^{' <<<"$output" | jq -c '[.cluster,.received,.max_age_ns]' | xargs)" = \
		"[1,1,8200] [2,1,7200] [5,1,6200] [all,3,8200]" ]
}

@test "a closed pipe: one line, status 1" {
	run -1 --separate-stderr python3 -c 'if 1:
		import os, subprocess, sys
		r, w = os.pipe()
		os.close(r)
		sys.exit(subprocess.run("innet-aom -q -r got.pcap --json".split(), stdout=w).returncode)'
	[ "$stderr" = "innet-aom: standard output: Broken pipe" ]
}

@test "innet-aom finds the right prefix among 60,000 for bare packets" {
	seq 0 59999 | awk 'BEGIN { print "10.0.0.0/8,65000" }
		{ printf "10.%d.%d.128/25,%d\n", $1 / 256, $1 % 256, $1 }' >t.csv
	for a in 0.0.129 117.5.200 234.95.255 234.96.255 0.0.127; do
		echo "1000 1 1 1 1 0 1.5 4 bare src=10.$a"
	done | mkolaf >b.pcap
	[ "$(aom -r b.pcap --format bare --cluster-table t.csv --json |
		jq -c '[.cluster,.received]' | xargs)" = \
		"[0,1] [29957,1] [59999,1] [65000,2] [all,5]" ]
}

@test "an error in a cluster table gives the line" {
	for row in '10.0.0.0/33,1' '10.0.0,1' '10.0.0.0/8' '10.0.0.0/8,65536' ',' \
		'10.0.0.0/8,1,2' 'fd00::/129,1'; do
		printf 'prefix,cluster\n10.0.0.0/8,1\n%s\n' "$row" >t.csv
		run -1 innet-aom -r got.pcap --format bare --cluster-table t.csv
		[[ $output == "innet-aom: t.csv:3: "* ]]
	done
}

@test "contradictory options are refused with status 2" {
	for w in "--by flow" "--constituents middle" "--constituents oldest" \
		"--format bare" "--cluster-table t.csv" "--compare-sent got.pcap" \
		"--compare-counters x" "--sent - -r -" "--until 1y" \
		"--sent sent.pcap --constituents oldest --by worker"; do
		run -2 innet-aom -r got.pcap $w
	done
}

@test "a full disk is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	run -1 sh -c 'innet-aom -q -r got.pcap >/dev/full'
	run -1 innet-aom -q -r got.pcap --series /dev/full
}

@test "innet-aom prints all of 65,536 clusters" {
	seq 0 65535 | awk '{ print 1000 + $1, $1, 0, 1, 1, 900, 0, 1 }' |
		mkolaf >many.pcap
	[ "$(aom -r many.pcap --json | wc -l)" -eq 65537 ]
}

@test "innet-aom warns about updates that are older than their capture" {
	innet-gen -q --clusters 1 --workers 1 -c 20 -w old.pcap
	innet-replay -q -r old.pcap -w new.pcap --speed 2
	innet-replay -q -r old.pcap -w true.pcap --speed 2 --stamp
	run -0 --separate-stderr innet-aom -q -r true.pcap --json
	[ -z "$stderr" ]
	python3 - <<-'END'
	# change only the timestamps of the packets, to one year later
	import struct
	d = bytearray(open('old.pcap', 'rb').read())
	at = 24
	while at < len(d):
	    s, f, n, m = struct.unpack_from('<4I', d, at)
	    struct.pack_into('<I', d, at, s + 31536000)
	    at += 16 + n
	open('later.pcap', 'wb').write(d)
	END
	run -0 --separate-stderr innet-aom -q -r later.pcap --json
	[[ $stderr == "innet-aom: later.pcap: 20 of 20 packets carry updates that are older than the capture, by up to 3.1536e+07 s; the packets may have been replayed with --no-stamp, or the times in the updates may count from another epoch" ]]
}

@test "--total prints the row for all, and --columns the given figures in the given order" {
	innet-gen -q --clusters 2 --workers 2 -c 20 -w sent.pcap
	innet-switch -q -r sent.pcap -w got.pcap --slots 4 --rate 40M
	innet-aom -q -r got.pcap --sent sent.pcap --csv >all
	innet-aom -q -r got.pcap --sent sent.pcap --csv --total --columns lost,mean_age_ns >few
	[ "$(head -n 1 few)" = cluster,lost,mean_age_ns ]
	[ "$(wc -l <few)" -eq 2 ]
	[ "$(tail -n 1 few)" = "all,$(tail -n 1 all | cut -d, -f5,9)" ]
	innet-aom -q -r got.pcap --json --columns received,jain >few
	[ "$(wc -l <few)" -eq 3 ]
	jq -se '.[0] | keys == ["cluster", "received"]' few
	jq -se '.[2] | keys == ["cluster", "jain", "received"]' few
	innet-aom -q -r got.pcap --total --columns max_age_ns,jain >few
	[ "$(wc -l <few)" -eq 3 ]
	[[ $(head -n 1 few) =~ ^cluster\ +max\ [mun]?s\ +jain$ ]]
	[[ $(sed -n 2p few) =~ ^all\ +[0-9.]+\ +[0-9.]+$ ]]
	innet-aom -q -r got.pcap --compare got.pcap --csv --total --columns merged,jain >few
	[ "$(cut -d, -f1,2,5 few | tail -n 2)" = $'all,merged,1\nall,jain,1' ]
	while IFS='|' read -r list why; do
		run -2 --separate-stderr innet-aom -r got.pcap --columns "$list"
		[ "${stderr_lines[0]}" = "innet-aom: invalid columns '$list': $why" ]
	done <<-'END'
	age|unknown column 'age'; --csv prints the names of all
	los|unknown column 'los'; the nearest is 'lost'
	lost,lost|a column is given twice
	|unknown column ''; --csv prints the names of all
	lost,|unknown column ''; --csv prints the names of all
	END
}
