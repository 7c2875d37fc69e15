# A new program needs one folder and one row; every driver can then run it.
# CONTRIBUTING.md describes the steps; this file follows them outside the source
# tree.
load common

# build_with_toy TOOL FILE...: link TOOL, with the FILEs that include
# programs.h compiled again
build_with_toy() {
	local tool=$1 build="${COMPILE%% *} -I. ${COMPILE#* } -I$srcdir -I$builddir -O0"
	local parts f
	shift
	parts=$(find "$builddir/cmd/$tool" -name '*.o')
	for f; do
		$build -w -c -o "$tool-$f.o" "$srcdir/cmd/$tool/$f.c"
		parts=$(grep -v "/$tool/$f.o$" <<<"$parts")
	done
	$build -o "$tool" $parts "$tool"-*.o $LINK
}

setup_file() {
	[ "${INNET_TESTS_ONCE-}" != all ] || return 0
	cd "$BATS_FILE_TMPDIR"
	mkdir -p common/toy common/switch
	cp "$srcdir/tests/data/toy/program.h" common/toy
	# add the row, and the header that declares it
	sed 's|#include "common/olaf/program.h"|&\n#include "common/toy/program.h"|
		s|^\t&olaf_program,$|&\n\t\&toy_program,|' \
		"$srcdir/common/switch/programs.h" >common/switch/programs.h
	[ "$(diff common/switch/programs.h "$srcdir/common/switch/programs.h" | grep -c '^<')" -eq 2 ]
	build_with_toy innet-switch conf main
	build_with_toy innet-sim planes
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$BATS_FILE_TMPDIR:$PATH
	pids=''
}

@test "the program has at most a hundred lines" {
	[ "$(wc -l <"$srcdir/tests/data/toy/program.h")" -le 100 ]
}

@test "a new program works in a trace, with ports, links and impairments" {
	once
	innet-gen -q -c 10 --clusters 1 --workers 1 -w gen.pcap
	to=$(tcpdump -nr gen.pcap -c 1 2>/dev/null | sed 's/.* > \([0-9.]*\)\.\([0-9]*\): .*/\1:\2/')
	innet-switch -p toy --times 2 --listen "$to" -r gen.pcap -w out.pcap --rate 1M --json >r.json
	jq -e '.program == "toy" and .taken == 10 and .switch.echoed == 10 and .out == 20' r.json
	[ "$(tcpdump -nr out.pcap 2>/dev/null | wc -l)" -eq 20 ]
	innet-switch -q -p toy --listen "$to" -r gen.pcap -w out.pcap --impair loss=50% --report r.json
	jq -e '.impaired_lost + .impaired_in_lost > 2 and .taken + .impaired_in_lost == 10' r.json
	run -2 --separate-stderr innet-switch -p toy -H 2
	[ "$stderr" = "innet-switch: --threshold cannot be used with --program toy" ]
}

@test "the program runs live, innet-ctl reads its state, and the filter repeats its captures" {
	once
	serve switch innet-switch --json -p toy --write-in in.pcap -w out.pcap
	python3 - "${switch#*:}" <<-'E'
		import socket, sys
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.settimeout(20)
		for i in range(20):
		    s.sendto(b'%d' % i, ('127.0.0.1', int(sys.argv[1])))
		    assert s.recv(9) == b'%d' % i
	E
	innet-ctl "$switch" stats --json | jq -e '.program == "toy" and .counters.echoed == 20'
	innet-ctl "$switch" stats --prometheus | grep -qx 'innet_switch_echoed_total{program="toy"} 20'
	[ "$(innet-ctl "$switch" jobs)" = "toy, 0 jobs" ]
	run -1 innet-ctl "$switch" members
	kill -TERM "$switch_pid"
	wait "$switch_pid"
	tail -n 1 switch.out | jq -e '.taken >= 24 and .switch.echoed == 20'
	innet-switch -q -p toy --listen "$switch" -r in.pcap -w again.pcap --report r.json
	diff <(jq -S .switch r.json) <(tail -n 1 switch.out | jq -S .switch)
	echoes() { tcpdump -nr "$1" -t 'udp and not ip[1] & 0xfc = 0x0c' 2>/dev/null; }
	[ "$(echoes again.pcap | wc -l)" -eq 20 ]
	diff <(echoes out.pcap) <(echoes again.pcap)
}

@test "the program runs in the simulator" {
	once
	innet-gen -q -c 10 --clusters 1 --workers 1 -w gen.pcap
	to=$(tcpdump -nr gen.pcap -c 1 2>/dev/null | sed 's/.* > \([0-9.]*\)\.\([0-9]*\): .*/\1:\2/')
	jq -n --arg o "-p toy --times 3 --listen $to --rate 1M" \
		'{planes: [{name: "echo", options: $o, read: "gen.pcap"}]}' >s.json
	innet-sim --json -w out s.json | jq -e '.program == "toy" and .taken == 10 and .out == 30'
	innet-switch -q -p toy --times 3 --listen "$to" --rate 1M -r gen.pcap -w want.pcap
	cmp want.pcap out/echo.out.pcap
}
