# make bench: what rows say where something is missing.
load common

bench=$BATS_TEST_DIRNAME/bench

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
