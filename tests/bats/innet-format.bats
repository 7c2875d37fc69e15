# Tests of the ages of foreign protocols: formats, matching, TCP streams, tables
# and clocks.
load common
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	head='"sequence":{"at":4,"type":"u32"},"generated":{"at":8,"type":"u64","unit":"us"},"merged":{"at":16,"type":"u16"}'
	ids='"cluster":{"at":0,"type":"u16"},"worker":{"at":2,"type":"u16"}'
}

# made KIND [SEED]: write captures of a foreign protocol, and the true ages
made() { python3 "$srcdir/tests/bats/mkforeign.py" "$1" . "${2:-1}"; }

# true_of HOW OPTION...: check that innet-aom prints the true ages
true_of() {
	innet-aom --csv "${@:2}" >out.csv 2>err || { cat err; return 1; }
	PYTHONPATH=$srcdir/tests/twins python3 "$srcdir/tests/twins/format_truth.py" truth.csv "$1" out.csv
}

@test "a file or options describe the updates of a user's own protocol over UDP" {
	for seed in 1 2; do
		made udp $seed
		echo "{\"name\":\"my-rl\",\"filter\":\"udp port 5555\",$ids,$head}" >f.json
		true_of first -r got.pcap --format f.json
		true_of sent -r got.pcap --sent sent.pcap --format f.json
		true_of sent -r got.pcap --sent sent.pcap --filter 'udp port 5555' \
			--field cluster=u16@0 --field worker=u16@2 --field generated=u64@8,us
	done
}

@test "generated=sent takes the generation time from the sent packet with the same sequence number" {
	made udp
	true_of sent -r got.pcap --sent sent.pcap --field cluster=u16@0 \
		--field worker=u16@2 --field sequence=u32@4 --field generated=sent
}

@test "a datagram can contain many updates, as with offloads; a remainder is refused" {
	made many
	echo "{\"length\":24,$ids,$head}" >f.json
	true_of sent -r got.pcap --sent sent.pcap --format f.json
	sed -i 's/24/25/' f.json
	run -0 innet-aom -r got.pcap --format f.json
	[[ $output =~ "ignored "[0-9]+": "[0-9]+" length" ]]
}

@test "TCP: messages have a fixed length, a length field or a delimiter" {
	for seed in 1 2 3; do
		made fixed $seed
		echo "{\"length\":24,$ids,$head}" >f.json
		true_of first -r got.pcap --format f.json
		made length $seed
		true_of first -r got.pcap --field length=u16@0,+2 --field cluster=u16@2 \
			--field worker=u16@4 --field generated=u64@10,us
		made line $seed
		echo '{"delimiter":"\r\n","cluster":{"field":"port.src","table":{"4002":1,"4003":1,
			"4004":2,"4005":2,"4006":3,"4007":3}},"match":true}' >f.json
		true_of sent -r got.pcap --sent sent.pcap --format f.json
	done
}

@test "TCP: if a segment is missing, innet-aom finds the messages after it, or reports that it cannot" {
	made fixed
	python3 - <<-'END'
	import struct
	d = open('got.pcap', 'rb').read()
	at, n, out = 24, 0, d[:24]
	while at < len(d):
	    k = 16 + struct.unpack_from('<I', d, at + 8)[0]
	    n += 1
	    if n not in (101, 102, 103):
	        out += d[at:at + k]
	    at += k
	open('holes.pcap', 'wb').write(out)
	END
	echo "{\"length\":24,$ids,$head}" >f.json
	run -0 --separate-stderr innet-aom -r holes.pcap --format f.json --total --csv
	[[ $stderr == *"the capture lacks "*" bytes of TCP streams"* ]]
	lost=$(($(grep -c , truth.csv) - 1 - $(tail -n 1 <<<"$output" | cut -d, -f2)))
	[ $lost -ge 1 ]
	[ $lost -le 3 ]
	run -0 innet-aom -r holes.pcap --total --field length=u16@0 --field generated=u64@8,us
	[[ $output == *"streams given up"* || $output == *"stream"* ]]
	# without a length the messages cannot be told apart, so they are only
	# counted
	run -0 innet-aom -r got.pcap --total --field generated=u64@8,us
	[[ $output =~ "ignored "[0-9]+": "[0-9]+" stream" ]]
}

@test "opaque payloads are matched to the sent packets, and equal payloads in their order" {
	for seed in 1 2; do
		made opaque $seed
		true_of sent -r got.pcap --sent sent.pcap --format match --field cluster=1 || true
		# the sender's address as the cluster gives the clusters of
		# truth.csv
		true_of sent -r got.pcap --sent sent.pcap --format match --field cluster=ip.src 2>&1 | grep -q clusters
		echo '{"match":true,"cluster":{"field":"ip.src","table":"t.csv"}}' >f.json
		printf '10.0.1.0/24,1\n10.0.2.0/24,2\n10.0.3.0/24,3\n' >t.csv
		true_of sent -r got.pcap --sent sent.pcap --format f.json
		grep -q ambiguous err
	done
}

@test "innet-aom reports ambiguous deliveries with the bounds of the mean age" {
	# three updates with the same bytes, sent at 1, 2 and 3 us; the first
	# was lost
	printf '%s 1 0 1 1 0 1.5 4 bare\n' 1000 2000 3000 | mkolaf >sent.pcap
	printf '%s 1 0 1 1 0 1.5 4 bare\n' 2500 3500 | mkolaf >got.pcap
	run -0 --separate-stderr innet-aom -q -r got.pcap --sent sent.pcap --format match --total --json
	# matched in order: updates 1000 and 2000; the latest possible match:
	# 2000 and 3000
	[ "$(jq -c '[.received,.max_age_ns]' <<<"$output")" = '[2,2500]' ]
	[[ $stderr == *"got.pcap: 2 deliveries fit several updates with the same bytes; these deliveries are matched in the order of sending, and the mean age is between "*" ns" ]]
	# an extra delivery is counted as unmatched and does not change any age
	printf '%s 1 0 1 1 0 1.5 4 bare\n' 2500 3500 3600 3700 | mkolaf >more.pcap
	run -0 innet-aom -r more.pcap --sent sent.pcap --format match --total
	[[ $output == *"; unmatched 1"* ]]
}

@test "innet-aom drops no bare packet because of its payload" {
	printf '10.0.0.0/8,1\n' >t.csv
	printf '%s 1 0 1 1 0 1.5 4 bare nan\n' 1000 2000 | mkolaf >sent.pcap
	run -0 innet-aom -r sent.pcap --sent sent.pcap --format bare --cluster-table t.csv --total --json
	[ "$(grep '^{' <<<"$output" | jq .received)" -eq 2 ]
	[[ $output == *"ignored 0"* ]]
}

@test "truncated packets suffice if the headers contain the fields; otherwise innet-aom names the field" {
	made udp
	true_of first -r cut.pcap --field cluster=u16@0 --field generated=u64@8,us
	made many
	run -0 innet-aom -r cut.pcap --field length=24 --field cluster=u16@0 --field generated=u64@8,us
	[[ $output =~ [0-9]+" snaplen" ]]
	made opaque
	run -0 innet-aom -r cut.pcap --sent sent.pcap --format match
	[[ $output =~ [0-9]+" snaplen" ]]
}

@test "a table of times can have any order of columns and rows, units, addresses and words" {
	made udp
	true_of sent -r truth.csv --format csv
	sed -i '/,$/d' truth.csv
	true_of first -r truth.csv --format csv --from first
	{
		echo 'received_s,note,worker,generated_us,cluster'
		echo '0.00002,"a, b",w-1,10,7'
		echo '0.000012500,,10.0.0.1,10.5,7'
		echo ',,10.0.0.1,11,7'
	} >t.csv
	run -0 --separate-stderr innet-aom -r t.csv --format csv --by worker --json
	[ "$(jq -c '[.cluster,.worker,.received,.lost,.max_age_ns]' <<<"$output" | xargs)" = \
		"[7,10.0.0.1,1,1,2000] [7,w-1,1,0,10000] [all,null,2,1,10000]" ]
	[[ $stderr == *"t.csv: column 'note' is not used"* ]]
}

@test "an error in a table gives the line" {
	h=cluster,worker,generated_ns,received_ns
	while IFS='|' read -r lines why; do
		printf "$lines" >t.csv
		run -1 innet-aom -q -r t.csv --format csv
		[ "$output" = "innet-aom: t.csv$why" ]
	done <<-END
	$h\n1,1,x,2\n|:2: 'x' is not a time since 1970
	$h\n1,1,-1,2\n|:2: '-1' is not a time since 1970
	$h\n1,1,1\n|:2: this line has 3 cells, but the first line names 4 columns
	$h\n\n1,a b,1,1\n|:3: 'a b' is not a name; use a number, an address, or up to 36 letters, digits and ._:@/+-
	$h,merged\n1,1,1,1,0\n|:2: merged '0' is not a number from 1 to 65535
	$h,worker\n|:1: column 'worker' is given twice
	END
	echo cluster,worker,generated,received_ns >t.csv
	run -1 innet-aom -q -r t.csv --format csv
	[[ ${lines[-1]} == "innet-aom: t.csv:1: column 'generated_ns' is missing; a table has "* ]]
	: >t.csv
	run -1 innet-aom -q -r t.csv --format csv
	[ "$output" = "innet-aom: t.csv:1: the table is empty; its first line must name the columns" ]
}

@test "an error in a format gives the key" {
	made udp
	while IFS='|' read -r json why; do
		echo "$json" >f.json
		run -1 innet-aom -q -r got.pcap --format f.json
		[ "$output" = "innet-aom: f.json: $why" ]
	done <<-'END'
	{"cluster":{"at":0}}|cluster: 'at' and 'type' must be given together
	{"cluster":{"at":0,"type":"u24"}}|cluster.type: 'u24': not one of u8, u16, u32, u64, f32, f64, le-u16, le-u32, le-u64, le-f32, le-f64; the nearest is 'u64'
	{"cluster":{"at":70000,"type":"u16"}}|cluster.at: '70000': too large
	{"cluster":{"field":"ip.ttl"}}|cluster: 'field' must be one of ip.src, ip.dst, port.src, port.dst, dscp, vlan, flow
	{"clusters":1}|clusters: unknown key; the nearest is 'cluster'
	{"merged":{"at":0,"type":"f32"}}|merged: must have a type of whole numbers
	{"length":4,"delimiter":"x"}|give 'length' or 'delimiter', not both
	END
	run -2 innet-aom -r got.pcap --format no-such
	[ "$output" = "innet-aom: invalid format 'no-such': not innet, bare, match or csv, and no file has this name" ]
	for w in "--field cluster" "--field colour=u16@0" "--field cluster=u16@x" \
		"--field length=12x" "--format match" "--format csv --sent sent.pcap" \
		"--format csv --filter udp" "--field cluster=1 --counters r.json" \
		"--field cluster=1 --constituents oldest --sent sent.pcap" \
		"--filter nonsense" "--offset got.pcap" "--offset other.pcap=1s" \
		"--offset got.pcap=1y" "--estimate-offset" "--end never" "-r got.pcap"; do
		run -2 innet-aom -r got.pcap $w
	done
}

@test "several captures of one end are merged in order of time" {
	made udp
	# write the packets of each cluster to a separate file
	for c in 1 2 3; do
		for f in sent got; do
			tcpdump -q --nano -r $f.pcap -w $f-$c.pcap "src net 10.0.$c.0/24" 2>/dev/null || skip "no tcpdump"
		done
	done
	echo "{$ids,$head}" >f.json
	true_of sent -r got-2.pcap -r got-1.pcap -r got-3.pcap --sent sent-3.pcap \
		--sent sent-1.pcap --sent sent-2.pcap --format f.json
}

@test "--offset corrects a clock, and --estimate-offset computes the offset" {
	made udp
	python3 - <<-'END'
	import struct
	# the sender's clock is 3.2 ms behind, and each update is answered
	def shift(src, dst, by, back):
	    d = open(src, 'rb').read()
	    at, out = 24, []
	    while at < len(d):
	        s, f, n, m = struct.unpack_from('<4I', d, at)
	        t, p = s * 10**9 + f, d[at + 16:at + 16 + n]
	        out.append((t + by, p))
	        answer = p[:26] + p[30:34] + p[26:30] + p[36:38] + p[34:36] + p[38:]
	        out.append((t + by + back, answer))
	        at += 16 + n
	    out.sort()
	    with open(dst, 'wb') as o:
	        o.write(d[:24])
	        for t, p in out:
	            o.write(struct.pack('<4I', t // 10**9, t % 10**9, len(p), len(p)) + p)
	shift('got.pcap', 'at-server.pcap', 0, 50000)
	shift('sent.pcap', 'at-worker.pcap', -3200000, 9000000)
	END
	f="--filter dst\ port\ 5555 --field cluster=u16@0 --field worker=u16@2 --field sequence=u32@4 --field generated=sent"
	eval "true_of sent -r at-server.pcap --sent at-worker.pcap --offset at-worker.pcap=+3.2ms $f"
	eval "innet-aom -q -r at-server.pcap --sent at-worker.pcap $f --total --columns mean_age_ns --csv" >apart
	[ "$(tail -n 1 apart)" != "$(grep ^all out.csv | cut -d, -f1,9)" ]
	eval "innet-aom -r at-server.pcap --sent at-worker.pcap --estimate-offset $f --total" 2>err >out
	grep -q "^innet-aom: at-worker.pcap: offset " err
	run -1 innet-aom -r got.pcap --sent sent.pcap --estimate-offset
	[ "$output" = "innet-aom: --estimate-offset: got.pcap and sent.pcap do not share packets in both directions; give --offset instead" ]
}

@test "if innet-aom recognises no update, it describes the capture; with --strict it fails" {
	made udp
	run -0 --separate-stderr innet-aom -q -r got.pcap --total
	[[ $stderr =~ ^"innet-aom: got.pcap: none of "[0-9]+" packets is an update with innet's DSCP 11: "[0-9]+" of UDP to port 5555 with DSCP 0"$ ]]
	run -1 innet-aom -q -r got.pcap --total --strict
	run -0 innet-aom -q -r got.pcap --strict --field cluster=u16@0 --field generated=u64@8,us
	run -1 innet-aom -q -r got.pcap --strict --filter 'udp port 1' --field cluster=u16@0 --field generated=u64@8,us
}

@test "if no packet of a capture is valid, innet-aom says why; with --strict it fails" {
	printf '%s 1 1 1 1 900 0 4 sum=bad\n' 1000 2000 | mkolaf >bad.pcap
	run -0 --separate-stderr innet-aom -q -r bad.pcap --total
	[ "$stderr" = "innet-aom: bad.pcap: 2 packets, but none is usable; the most common reason is 'checksum' (2 packets)" ]
	run -1 innet-aom -q -r bad.pcap --total --strict
}

@test "innet-aom guesses a rewritten codepoint, and --filter accepts its packets" {
	innet-gen -q --clusters 2 --workers 2 -c 20 -w marked.pcap
	python3 - <<-'END'
	import struct
	d = bytearray(open('marked.pcap', 'rb').read())
	at = 24
	while at < len(d):
	    n = struct.unpack_from('<I', d, at + 8)[0]
	    ip = at + 16 + 14
	    d[ip + 1] = 0
	    d[ip + 10:ip + 12] = bytes(2)  # as a network card or ns-3 leaves the checksum
	    at += 16 + n
	open('plain.pcap', 'wb').write(d)
	END
	run -0 --separate-stderr innet-aom -q -r plain.pcap --total
	[[ $stderr == *"80 of UDP to port 46638 with DSCP 0; 80 go to innet's port; if their DSCP was rewritten, use --filter 'udp port 46638'" ]]
	innet-aom -q -r marked.pcap --csv >want
	innet-aom -q -r plain.pcap --csv --filter 'udp port 46638' >got
	cmp want got
}

@test "ages end with the last packet of their cluster, unless --end capture is given" {
	innet-gen -q --rate 60G --arrivals poisson -c 2000 -w tails.pcap
	innet-gen -q --rate 60G --arrivals poisson -c 100000 --duration 1840us -w whole.pcap
	for t in tails whole; do
		innet-switch -q -r $t.pcap -w $t-olaf.pcap --slots 8 --rate 40G
		innet-switch -q -r $t.pcap -w $t-fifo.pcap --slots 8 --rate 40G --queue fifo
	done
	ratio() {
		innet-aom -q -r "$1-olaf.pcap" --sent "$1.pcap" --compare "$1-fifo.pcap" --total \
			--columns mean_age_ns --csv "${@:2}" | tail -n 1 | cut -d, -f5
	}
	awk -v a="$(ratio tails)" -v b="$(ratio whole)" -v c="$(ratio tails --end capture)" \
		'BEGIN { print a, b, c; exit !(a / b > 0.98 && a / b < 1.02 && c / b > 1.1) }'
	run -0 innet-aom -r tails-olaf.pcap --sent tails.pcap --total
	[[ $output =~ "ages are measured until the last packet of their cluster; with --end capture the mean age of all clusters would be "[0-9.]+" % higher" ]]
	run -0 innet-aom -r whole-olaf.pcap --sent whole.pcap --total
	[[ $output != *"ages end"* ]]
}
