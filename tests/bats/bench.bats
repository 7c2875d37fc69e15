# Tests of make bench: which rows run, and what a row prints if a tool is
# missing.
load common

bench=$BATS_TEST_DIRNAME/../bench

# rows NAME...: write benches with these names next to run.sh; each prints its
# name
rows() {
	cp "$bench/run.sh" .
	for b; do echo "echo ${b%%-*} ran" >"$b.sh"; done
}

# ran BENCH...: run these benches and print their output without comments
ran() { BENCH=$* bash run.sh | grep -v '^#'; }

@test "BENCH selects one or more rows; without it, all rows run" {
	rows p1-sync p10-sim p3-olaf t1-nets
	[ "$(ran P1)" = 'p1 ran' ]
	[ "$(ran P3 p1)" = $'p3 ran\np1 ran' ]
	[ "$(ran 'P10  T1 ')" = $'p10 ran\nt1 ran' ]
	[ "$(ran | sort | paste -sd' ')" = 'p1 ran p10 ran p3 ran t1 ran' ]
}

@test "BENCH with an unknown row names it and runs no row" {
	rows p1-sync p3-olaf
	run -2 --separate-stderr env BENCH='P1 P4' bash run.sh
	[ -z "$output" ]
	[ "$stderr" = "run.sh: no bench P4" ]
}

@test "the last lines give the rows that are ok, short and skipped" {
	rows p1-sync p3-olaf
	echo 'echo P1 sync ratio 2 bar 1 short; echo P1 size ratio 1 bar 1 ok' >p1-sync.sh
	echo 'echo P3 olaf skipped: no tcpdump' >p3-olaf.sh
	run -0 bash run.sh
	printf '%s\n' "${lines[@]: -3}" | diff - <(printf '%s\n' \
		'# 1 rows ok, 1 short, 1 skipped, 0 benches failed' \
		'#   P1 sync ratio 2 bar 1 short' '#   P3 olaf skipped: no tcpdump')
}

@test "run.sh runs all benches, names one that cannot run, and exits with status 1" {
	rows p1-sync p3-olaf
	echo 'exit 1' >p1-sync.sh
	run -1 bash run.sh
	grep -qx 'p3 ran' <<<"$output"
	[ "${lines[-1]}" = '#   p1-sync.sh failed' ]
}

@test "a bench is named if other processes used the machine while it ran" {
	rows p1-sync
	sh -c 'while :; do :; done' 3>&- &
	other=$!
	echo 'sleep 1; echo p1 ran' >p1-sync.sh
	run -0 env BENCH=P1 bash run.sh
	kill $other
	[[ ${lines[1]} =~ ^'# load '[0-9.]+' in the last minute'$ ]]
	grep -qxE '# p1-sync.sh: other processes used [0-9.]+ processors' <<<"$output"
}

@test "RESULTS contains the output of all rows and nothing else, with commit and date" {
	rows p1-sync p3-olaf
	RESULTS=all bash run.sh >printed
	cmp all printed
	grep -qE "^# commit [^ ]+, $(date -u +%Y)-[0-9-]+$" all
	RESULTS=some BENCH=P1 bash run.sh
	[ ! -e some ]
}

# Each line has a row, the tools that are installed, the missing tool, and the
# text that says how to get it.
@test "a row without its comparison program names the package to install" {
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
