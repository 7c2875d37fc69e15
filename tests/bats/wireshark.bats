# Tests of the dissector: the output of tshark for captures made from text lines
# must equal output that was checked by hand.
load common

data=$BATS_TEST_DIRNAME/../data
lua=$share/wireshark/innet.lua

# shark FILE OPTION...: run tshark with the dissector; err gets the warning
# about root
shark() {
	command -v tshark >/dev/null || skip 'no tshark'
	timeout 120 tshark -n -X "lua_script:$lua" -r "$@" 2>err
}

# tree FILE: print innet's part of the tree of each packet
tree() {
	shark "$1" -O innet.update,innet.segment,innet.control,innet.dlp |
		grep -vE '^(Frame|Ethernet|Internet|User)' | sed 's/^$/--/'
}

# infos FILE [FIELD]: print a line for each packet
infos() {
	shark "$1" -T fields -e _ws.col.Protocol -e "${2-_ws.col.Info}"
}

@test "the dissector shows every field of updates, models and weights, and one note for each fault" {
	mkolaf <"$data/wireshark/olaf.lines" >in.pcap
	tree in.pcap >got
	diff "$data/wireshark/olaf.want" got
}

@test "the dissector shows every field of segments and control messages, and one note for each fault" {
	mkiswitch <"$data/wireshark/iswitch.lines" >in.pcap
	tree in.pcap >got
	diff "$data/wireshark/iswitch.want" got
}

@test "the dissector shows what innet-ctl requests: jobs, regroup, stats of a job, the last statuses" {
	mkiswitch >in.pcap <<-'EOF'
	1000 10.0.1.1 10.0.1.2 stats 0 1 body=000001
	2000 10.0.1.1 10.0.1.2 stats 7 2 body=0000
	3000 10.0.1.1 10.0.1.2 jobs 0 3 body=0002
	4000 10.0.1.1 10.0.1.2 regroup 3 4 body=00000007000900000102
	5000 10.0.1.2 10.0.1.1 ack 0 3 jobs done page=2 pages=3 text={"program":"olaf"}
	6000 10.0.1.2 10.0.1.1 ack 3 4 regroup unknown
	7000 10.0.1.2 10.0.1.1 ack 3 5 regroup prove
	8000 10.0.1.1 10.0.1.2 regroup 3 6 body=000000070009
	EOF
	diff - <(infos in.pcap | cut -f 2) <<-'EOF'
	Stats, job 0
	Stats, job 7
	Jobs, job 0
	Regroup, job 3
	Ack of Jobs: done, job 0
	Ack of Regroup: unknown, job 3
	Ack of Regroup: prove yourself, job 3
	Regroup, job 3
	EOF
	shark in.pcap -T fields -E separator=, -e innet.control.page -e innet.control.scope -e innet.control.worker \
		-e innet.control.cluster -e innet.control.as -e innet.control.text >got
	diff - got <<-'EOF'
	0,1,,,,
	0,,,,,
	2,,,,,
	,,7,9,258,
	2,,,,,{"program":"olaf"}
	,,,,,
	,,,,,
	,,7,9,,
	EOF
	[ "$(shark in.pcap -Y _ws.expert -T fields -e frame.number)" = 8 ]
}

@test "the dissector shows repairs: members that support them, Probe, NACK, STATE and the missing segments" {
	mkiswitch >in.pcap <<-'EOF'
	1000 10.0.1.1 10.0.1.2 join 1 1 body=0100000000000003000003e8016e0000000500000000 extra=1
	2000 10.0.1.1 10.0.1.2 join 1 2 body=0100000000000003000003e8016e000000050000000003
	3000 10.0.1.2 10.0.1.1 ack 1 2 join done body=0100000100020002000000050001000000040001 extra=1
	4000 10.0.1.2 10.0.1.1 ack 1 2 join done body=010000010002000200000005000100000004000104
	5000 10.0.1.1 10.0.1.2 help 1 7 body=0000050000000002000000040000000000000100000400000000000000010b
	6000 10.0.1.2 10.0.1.1 ack 1 7 help done body=060000000500000000030000000300000004000002020001000201c1
	7000 10.0.1.2 10.0.1.1 help 1 8 body=0000050000000000000000000000000400000600000000000000000000028001
	8000 10.0.1.1 10.0.1.2 help 1 9 body=0000050000000002
	9000 10.0.1.2 10.0.1.1 ack 1 9 help done body=0600
	10000 10.0.1.1 10.0.1.2 help 1 7 body=0000050000000002000000040000000000000100000400000000000000020b
	EOF
	infos in.pcap | cut -f 2 >got
	diff - got <<-'EOF'
	Join, job 1
	Join, job 1
	Ack of Join: done, job 1
	Ack of Join: done, job 1
	Help: Probe, job 1
	Ack of Help: STATE, job 1
	Help: NACK or Probe, job 1
	Help, job 1
	Ack of Help: done, job 1
	Help: Probe, job 1
	EOF
	shark in.pcap -T fields -E separator=, -e innet.control.repairs -e innet.control.mends -e innet.control.mark \
		-e innet.control.seen -e innet.control.last -e innet.control.upto -e innet.control.resent \
		-e innet.control.whole -e innet.control.notice -e innet.control.dups -e innet.control.lacks >got
	sed 's/True/1/g; s/False/0/g' got | diff - <(cat <<-'EOF'
	0,,,,,,,,,,
	1,,,,,,,,,,
	,0,,,,,,,,,
	,1,,,,,,,,,
	,,4,0,1,4,,,,,2-3 5
	,,3,4,,,2,0,1,1,3 11 17-18
	,,0,4,6,0,,,,,7-8
	,,,,,,,,,,
	,,,,,,,,,,
	,,4,0,1,4,,,,,
	EOF
	)
	[ "$(shark in.pcap -Y _ws.expert -T fields -e frame.number)" = 10 ]
}

@test "the dissector reads the captures of the published DLP programs" {
	infos "$data/dlp-avg_agg_udp_bcast-5w.pcapng" >got
	[ "$(grep -c '^DLP' got)" -eq "$(wc -l <got)" ]
	grep -q 'SETUP, step 0' got
	grep -q 'LEARNING, step 99' got
	run -0 shark "$data/dlp-avg_agg_udp_bcast-5w.pcapng" -Y _ws.expert
	[ -z "$output" ]
}

@test "the dissector shows where each packet of a vector begins" {
	innet-gen -q --clusters 1 --workers 1 -c 1 --vector ppo -w in.pcap
	shark in.pcap -T fields -e innet.update.first -e innet.update.floats >got
	[ "$(wc -l <got)" -gt 1 ]
	awk '$1 != at { exit 1 } { at += $2 } END { exit at != 10005 }' got
}

@test "the dissector reads DLP on configured ports, and not on others" {
	mkiswitch >in.pcap <<-'EOF'
	1000 10.0.1.1:4000 10.0.1.2:7000 udp 010100000005000000010000000200000003000000040000000500000006
	2000 10.0.1.1:4000 10.0.1.2:7001 udp 010100000005000000010000000200000003000000040000000500000006
	EOF
	run -0 shark in.pcap -o innet.dlp.ports:7000 -T fields -e innet.dlp.param
	[ "${lines[0]}" = 1,2,3,4,5,6 ]
	[ "${lines[1]-}" = '' ]
}

@test "the dissector reads a longer DLP vector" {
	innet-gen -q --program dlp --workers 2 -c 1 --vector 366 |
		innet-switch -q -p dlp -w out.pcap
	infos out.pcap | sort | uniq -c | sort -rn >got
	grep -q 'DLP.VECTOR, step 0, 2 workers' got
	shark out.pcap -Y innet.dlp.elements -T fields -e innet.dlp.param >got
	[ "$(tr , '\n' <got | wc -l)" -eq $((2 * 366)) ]
	[ -z "$(shark out.pcap -Y _ws.expert)" ]
}

@test "the dissector does not fail on random bytes" {
	python numpy
	mkolaf <"$data/wireshark/olaf.lines" >olaf.pcap
	mkiswitch <"$data/wireshark/iswitch.lines" >iswitch.pcap
	"$py" - <<-'EOF'
	import random, struct
	rng = random.Random(1)
	out = open('in.pcap', 'wb')
	for name in ('olaf.pcap', 'iswitch.pcap'):
	    data = open(name, 'rb').read()
	    if out.tell() == 0:
	        out.write(data[:24])
	    at = 24
	    while at < len(data):
	        head = data[at:at + 16]
	        n = struct.unpack('<I', head[8:12])[0]
	        frame = data[at + 16:at + 16 + n]
	        for _ in range(60):
	            f = bytearray(frame)
	            for _ in range(rng.randrange(1, 6)):
	                if len(f) > 42:
	                    f[rng.randrange(42, len(f))] = rng.randrange(256)
	            out.write(head + f)
	        at += 16 + n
	EOF
	run -0 shark in.pcap -Y _ws.lua.error
	[ -z "$output" ] || { head -n 5 <<<"$output"; false; }
	[ "$(shark in.pcap -Y _ws.expert | wc -l)" -gt 100 ]
}

@test "the dissector shows a state transfer: Fetch and Chunk" {
	mkiswitch >in.pcap <<-'EOF'
	1000 10.0.1.1 10.0.1.2 fetch 3 1 body=000200010000000700000005000001000020
	2000 10.0.1.2 10.0.1.1 chunk 3 2 body=00020001000000040000000500000000000003e800000003a1b2c3d400000000616263
	EOF
	diff - <(infos in.pcap | cut -f 2) <<-'EOF'
	Fetch, job 3
	Chunk, job 3
	EOF
	shark in.pcap -T fields -E separator=, -e innet.control.asker -e innet.control.waits -e innet.control.ready \
		-e innet.control.worker -e innet.control.snapshot -e innet.control.first -e innet.control.count \
		-e innet.control.results -e innet.control.size -e innet.control.chunk -e innet.control.data >got
	diff - got <<-'EOF'
	2,1,,7,5,256,32,,,,
	2,,1,4,5,,,1000,3,0,616263
	EOF
}

@test "the dissector shows proofs: the counter and proof behind an update, the salt of an Open" {
	(umask 077; head -c 32 /dev/urandom >key)
	serve ps innet-ps -q --key key -w out.pcap
	innet-worker -q --key key --switch "$ps" --synthetic 400B --interval 10ms -c 20 -w w.pcap
	finish ps
	shark w.pcap -T fields -e innet.control.action -e innet.control.acked -e innet.control.salt |
		awk '$2 == 19 && $1 == 8 && length($3) == 32' >open
	shark w.pcap -Y 'innet.update.kind != 2' -T fields -e innet.update.floats -e innet.update.counter -e innet.update.proof >up
	[ -s open ]
	[ "$(cut -f 2 up | paste -sd' ')" = "$(seq -s ' ' "$(wc -l <up)")" ]
	[ "$(awk '$1 == 100 && length($3) == 16' up | wc -l)" -eq "$(wc -l <up)" ]
	[ -z "$(shark w.pcap -Y _ws.expert)" ]
}
