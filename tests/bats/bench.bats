# Tests of make bench: which rows run, and what a row prints if a tool is
# missing.
load common

bench=$BATS_TEST_DIRNAME/../bench

# rows NAME...: write benches with these names next to run.sh; each prints its
# name
rows() {
	cp "$bench/run.sh" "$bench/rounds.bash" .
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

# bench NAME LINE...: write a bench of these lines
bench() {
	{ echo '. "${0%/*}/rounds.bash"'; printf '%s\n' "${@:2}"; } >"$1.sh"
}

@test "a row ends with the processors that others used meanwhile" {
	rows p1-sync
	bench p1-sync 'take a sh -c "sleep 1; echo 2"; row "P1 sync" ms a 1 1' \
		'take c sh -c "timeout 0.5 sh -c \"while :; do :; done\"; echo 2"' \
		'row "P1 apart" ms c 1 1'
	sh -c 'while [ ! -e stop ]; do :; done' 3>&- &
	run -0 env BENCH=P1 bash run.sh
	touch stop
	[[ ${lines[1]} =~ ^'# load '[0-9.]+' in the last minute'$ ]]
	grep -qxE 'P1 sync .* bar 1.00 short; others used [0-9.]+ processors' <<<"$output"
	grep -qx '# 0 rows ok, 2 short, 0 skipped, 0 benches failed' <<<"$output"
	grep -qxE '# [12] rows were measured while others used the machine' <<<"$output"
}

@test "the processor time of the bench itself is not that of others" {
	cp "$bench/rounds.bash" .
	cat >use.sh <<-'END'
	. ./rounds.bash
	sh -c 'while [ ! -e stop ]; do :; done' &
	begin
	until [ "$(awk '{ print $14 }' /proc/$!/stat)" -gt 40 ]; do sleep 0.1; done
	end a
	touch stop
	wait
	# all processes used at least as much as the bench
	awk '{ print ($4 - $1 > 0.2), ($5 - $2 > 0.2) }' a.others
	END
	[ "$(bash use.sh)" = '1 1' ]
	printf '%s\n' '10 1 100' '12.5 3 102' | paste -sd' ' >a.others
	echo '. ./rounds.bash; others a' >use.sh
	[ "$(bash use.sh)" = '; others used 0.2 processors' ]
	printf '%s\n' '10 1 100' '12.1 3 102' | paste -sd' ' >a.others
	[ -z "$(bash use.sh)" ]
}

@test "a row has the medians of the rounds, their spread, and that of the ratios" {
	cp "$bench/rounds.bash" .
	printf '%s\n' 3 1 2 >a
	printf '%s\n' 6 4 1 >b
	echo '. ./rounds.bash; row "$@"' >row.sh
	row() { bash row.sh "$@"; }
	[ "$(row 'P1 x' ms a b 0.5)" = 'P1 x innet 2.00 (1.00 to 3.00) ms peer 4.00 (1.00 to 6.00) ms ratio 0.500 (0.250 to 2.00) bar 0.500 ok' ]
	[ "$(row 'P1 x' ms a 20 0.05)" = 'P1 x innet 2.00 (1.00 to 3.00) ms peer 20.0 ms ratio 0.100 (0.0500 to 0.150) bar 0.0500 short' ]
	[[ $(row 'P1 x' ms a b 0.6 high) == *' ratio 0.500 (0.250 to 2.00) bar 0.600 short' ]]
	[[ $(row 'P1 x' ms a b 2 inverse) == *' ratio 2.00 (0.500 to 4.00) bar 2.00 ok' ]]
	[[ $(row 'P1 x' ms a a 1) == *' ratio 1.00 (1.00 to 1.00) bar 1.00 ok' ]]
	[[ $(row 'P1 x' ms a b 2 wrong) == *' ratio 0.500 (0.250 to 2.00) bar 2.00 short' ]]
	[[ $(row 'P1 x' ms a b '') == *' ratio 0.500 (0.250 to 2.00)' ]]
	: >c
	run -1 row 'P1 x' ms c b 1
	[ "$output" = 'P1 x: a measurement has no result' ]
}

@test "the exponent of a fit has the spread of the rounds" {
	cp "$bench/rounds.bash" "$bench/fit.bash" .
	printf '%s\n' 10 10 10 >a.10
	printf '%s\n' 100 10 1000 >a.100
	printf '%s\n' '. ./rounds.bash' '. ./fit.bash' 'scales "S1 a" a "us, by members" 1.1 10 100' >fit.sh
	run -0 bash fit.sh
	[ "${lines[0]}" = '# S1 a: 10.0 (10.0 to 10.0) at 10, 100 (10.0 to 1000) at 100; us, by members' ]
	[ "${lines[1]}" = 'S1 a exponent 1.000 (0.000 to 2.000) bar 1.10 ok' ]
}

@test "SAVE=yes writes a file for the kind of processor with a section for each bench" {
	rows p1-sync p3-olaf p10-sim
	echo 'echo P10 sim skipped: no ns3' >p10-sim.sh
	SAVE=yes RESULTS=all bash run.sh >printed
	page=$(echo all/*.md)
	[[ $page =~ ^all/[a-z0-9-]+\.md$ ]]
	grep -qx "# wrote $page" printed
	[ "$(grep '^## ' "$page" | paste -sd' ')" = '## p1-sync ## p3-olaf' ]
	grep -qE "^Measured on $(date -u +%Y)-[0-9-]+ at commit [^ ]+ with 5 rounds" "$page"
	grep -qx '    p1 ran' "$page"
	cp "$page" before
	echo 'echo again' >p3-olaf.sh
	SAVE=yes RESULTS=all BENCH=P3 bash run.sh
	diff before "$page" >changed || [ $? -eq 1 ]
	[ "$(grep -c '^[<>]     ' changed)" -eq 2 ]
	grep -qx '>     again' changed
	rm -r all
	RESULTS=all bash run.sh
	[ ! -e all ]
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
