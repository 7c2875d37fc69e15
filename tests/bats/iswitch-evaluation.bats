# Tests of share/examples/iswitch-evaluation.sh in its short form: its results,
# and its behaviour if a program is missing or a run fails.
load common

example=$share/examples/iswitch-evaluation.sh

# evaluate OPTION...: write the results to out/. The leak check is off because
# MPI's library has leaks. It takes 100 s alone, and several times that on a
# busy machine.
evaluate() { ASAN_OPTIONS=detect_leaks=0 $favoured timeout 1500 "$example" -o out --quick "$@" 3>&-; }

# rows PATTERN: print the number of rows that match
rows() { grep -cE "$1" out/measured.csv; }

# field KIND,ALGORITHM MODE,CARRIER N: print field N of the row of a run
field() { sed -nE "s/^($1,[^,]*,[^,]*,$2,.*)/\1/p" out/measured.csv | cut -d, -f"$3"; }

@test "the short form: each run has a row, and the tables have the columns of the paper" {
	once training
	privileged
	command -v innet-mpi && command -v mpirun || skip 'no Open MPI'
	evaluate
	[ "$(rows '^carry,(dqn|a2c|ppo|ddpg),.*,sync,(ps|ring|switch),')" -eq 12 ]
	[ "$(rows '^carry,(a2c|ppo),.*,async,(ps|switch),')" -eq 4 ]
	[ "$(rows '^train,a2c,')" -eq 5 ]
	# no approach is faster than its bytes allow: they pass a link once in
	# each direction, or four times with a server
	awk -v s="$(field carry,dqn sync,switch 11)" -v r="$(field carry,dqn sync,ring 11)" \
		-v p="$(field carry,dqn sync,ps 11)" 'BEGIN { exit !(s > 510 && r > 1.4 * 510 && p > 4 * 510 && s < p) }'
	# a synchronous server and a switch compute the same sums, so the agents learn the same
	for c in ps switch; do head -n 51 out/runs/train-a2c-sync-$c.w0.csv | cut -d, -f1-3 >games-$c; done
	[ "$(wc -l <games-ps)" -eq 51 ]
	cmp games-ps games-switch
	for title in 'Table 3' 'Table 4' 'Table 5' 'Figure 12' 'expected to differ'; do
		grep "^## .*$title" out/results.md
	done
	grep -q '^| DQN | 6.41 MB | switch | ' out/results.md
	grep -q '^- In synchronous training of A2C with vectors of the paper' out/results.md
	if command -v gnuplot; then
		for plot in figure12 table3 a2c; do grep -q '</svg>' out/$plot.svg; done
	fi
	# all results exist, so a second call runs nothing
	run -0 --separate-stderr evaluate
	[[ $stderr != *' of 21: '* ]]
}

@test "a failed run is named and the others are measured; the next call repeats only that run" {
	once training
	privileged
	mkdir -p out/runs/carry-ppo-sync-ps.port	# the script needs a folder, but this is a file
	run -1 --separate-stderr evaluate --only ppo
	[[ $stderr == *'carry-ppo-sync-ps failed; see '* ]]
	[ "$(rows '^carry,ppo,')" -ge 3 ]
	[ "$(rows ',sync,ps')" -eq 0 ]
	grep -q '^| PPO | 40.02 kB | switch | ' out/results.md
	rmdir out/runs/carry-ppo-sync-ps.port
	run -0 --separate-stderr evaluate --only ppo
	[ "$(grep -c ' of [0-9]*: ' <<<"$stderr")" -eq 1 ]
	[ "$(rows '^carry,ppo,.*,sync,ps,')" -eq 1 ]
	run -2 --separate-stderr "$example" -o out --seed 2
	[[ $stderr == *' has results with other settings: quick=1 seed=1 limit=20'* ]]
}

@test "without Open MPI the evaluation leaves the ring out and says so" {
	once training
	privileged
	mkdir bin
	ln -s /usr/bin/* /usr/sbin/* "$(dirname "$(command -v innet-switch)")"/innet-* bin/ 2>/dev/null || true
	rm -f bin/mpirun
	PATH=$PWD/bin run -0 --separate-stderr evaluate --only ppo
	[[ $stderr == *'there are no runs with the ring'* ]]
	[ "$(rows '^carry,ppo,')" -eq 4 ]
	run ! grep -q ring out/measured.csv
}

@test "runs with the computing times of the paper have a separate table" {
	h=kind,algorithm,env,bytes,mode,carrier,iterations,seconds,iteration_ms,compute_ms,aggregation_ms,update_ms,reward,solved
	printf '%s\n' $h paced,dqn,cartpole,6410000,sync,ps,6,24,4000,1250,2750,0,-,- \
		paced,dqn,cartpole,6410000,sync,switch,6,12,2000,1250,750,0,-,- >measured.csv
	awk -f "${example%.sh}.awk" -v notes="${example%.sh}.notes" measured.csv >results.md
	grep '^| DQN | switch | 2000.0 | 1250.0 | 750.0 | 2.00 | 22.27 | 9.77 | 3.66 |$' results.md
}

@test "without privileges: one error line, status 1" {
	drop=''
	[ "$(id -u)" -ne 0 ] || drop='setpriv --reuid=65534 --regid=65534 --clear-groups'
	run -1 --separate-stderr $drop "$example" -o /tmp/nobody/out
	[ -z "$output" ]
	[[ $stderr == *'network namespaces need root '* ]]
}

@test "misuse: status 2" {
	for words in '' '-o' '--quick' '-o out --seed x' '-o out --limit 0' '-o out --only sarsa' '-o out --fast 3'; do
		run -2 --separate-stderr "$example" $words
		[[ $stderr == 'iswitch-evaluation: '* ]]
	done
	[ ! -e out ]
}
