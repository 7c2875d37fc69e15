# make bench: which rows run, and what they say where something is missing.
load common

bench=$BATS_TEST_DIRNAME/../bench

# rows NAME...: benches of these names beside run.sh, each of which prints it
rows() {
	cp "$bench/run.sh" .
	for b; do echo "echo ${b%%-*} ran" >"$b.sh"; done
}

@test "BENCH names rows, one or several; without it all run" {
	rows p1-sync p10-sim p3-olaf t1-nets
	[ "$(BENCH=P1 bash run.sh)" = 'p1 ran' ]
	[ "$(BENCH='P3 p1' bash run.sh)" = $'p3 ran\np1 ran' ]
	[ "$(BENCH='P10  T1 ' bash run.sh)" = $'p10 ran\nt1 ran' ]
	[ "$(bash run.sh | sort | paste -sd' ')" = 'p1 ran p10 ran p3 ran t1 ran' ]
}

@test "a row that is none is named, and none runs" {
	rows p1-sync p3-olaf
	run -2 --separate-stderr env BENCH='P1 P4' bash run.sh
	[ -z "$output" ]
	[ "$stderr" = "run.sh: no bench P4" ]
}

@test "one row that is short, or fails, is the status of all" {
	rows p1-sync p3-olaf
	echo 'echo P1 sync ratio 2 bar 1 short' >p1-sync.sh
	run -1 env BENCH='P1 P3' bash run.sh
	[ "${lines[1]}" = 'p3 ran' ]
	echo 'exit 1' >p1-sync.sh
	run -1 env BENCH='P1 P3' bash run.sh
}

# Benches, the tools that are here, what is missing, and the row.
@test "a row whose peer is missing says so, and what to install" {
	ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v grep)" .
	while IFS='|' read -r row here missing get; do
		rm -rf build
		mkdir -p build/tests/bench
		for t in $here; do
			printf '#!/bin/sh\necho >&2 "$0: built without hiredis"; exit 1\n' >build/$t
			chmod +x build/$t
		done
		run -0 --separate-stderr env PATH="$PWD" BUILD=build bash "$bench/${row%% *}"
		[ "$output$stderr" = "${row#* } skipped: no $missing; on Debian: apt-get install $get" ] ||
			{ echo "$output$stderr"; return 1; }
	done <<-'END'
	p1-sync.sh P1 sync|innet-switch innet-worker|mpirun|openmpi-bin
	p1-sync.sh P1 sync|innet-switch innet-worker mpirun|mpi-allreduce|libopenmpi-dev
	p2-shaped.sh P2 shaped|innet-switch innet-worker innet-ps|mpirun|openmpi-bin
	p3-olaf.sh P3 olaf||tcpdump|tcpdump
	p4-aom.sh P4 aom|innet-aom innet-gen innet-switch tcpdump|tshark|tshark
	p7-replay.sh P7 replay|ip|tcpreplay|tcpreplay
	p9-memory.sh P9 memory|innet-memory replay-load|redis-server|redis-server
	p9-memory.sh P9 memory|innet-memory replay-load redis-server|redis-cli|redis-tools
	p9-memory.sh P9 memory|innet-memory replay-load redis-server redis-cli|hiredis|libhiredis-dev
	p11-verify.sh P11 verify||innet-verify|libz3-dev
	END
}
