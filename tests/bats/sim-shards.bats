# Tests of innet-sim --shard and --join: parts of a sweep run on several
# machines and are joined later.
bats_require_minimum_version 1.5.0
load common
load slurm

# Write a sweep of 6 points with 3 runs each; some of its figures are not
# numbers.
setup_file() {
	cat >"$BATS_FILE_TMPDIR/s.json" <<-'END'
	{ "duration": "300ms", "runs": 3, "seed": 5,
	  "sweep": { "links[sw].rate": [ "0", 2000000, 300000.5 ], "switches[*].queue": [ "olaf", "fifo" ] },
	  "switches": [ { "name": "sw", "slots": 2 } ],
	  "servers": [ { "name": "ps" } ],
	  "links": [ { "from": "sw", "to": "ps", "rate": "1M", "loss": 0.1 } ],
	  "workers": [ { "at": "sw", "clusters": 3, "workers": 4, "arrivals": "poisson" },
	    { "at": "sw", "clusters": "7-7", "start": "299ms", "name": "late" } ] }
	END
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	cp "$BATS_FILE_TMPDIR/s.json" .
}

# parts N OPTION...: run all N parts of s.json into the folder parts, the last
# one first
parts() {
	local i n=$1
	shift
	rm -rf parts
	for ((i = n; i >= 1; i--)); do
		innet-sim -q --shard $i/$n --parts parts "$@" s.json
	done
}

# refused STATUS TEXT WORD...: check that innet-sim WORD... exits with STATUS
# and prints only TEXT
refused() {
	run -"$1" --separate-stderr innet-sim "${@:3}"
	[ "$output$stderr" = "innet-sim: $2" ] || { echo "$output$stderr"; return 1; }
}

# damaged SED TEXT: change the first of two parts with sed, and check that
# --join refuses it with TEXT
damaged() {
	parts 2
	sed -i "$1" parts/1-of-2.part
	refused 1 "parts/1-of-2.part$2" --join parts
}

@test "any number of joined parts gives the output of one process, byte for byte" {
	for n in 1 2 5 18 20; do
		parts $n
		[ "$(ls parts | wc -l)" -eq $n ]
		for how in --json --csv '--csv --total' '--columns sent,p95_age_ns' '--json --columns jain'; do
			# shellcheck disable=SC2086
			cmp <(innet-sim -q $how s.json) <(innet-sim -q $how --join parts)
		done
	done
}

@test "joined parts agree for all kinds of rows, and with --set, --seed, --runs and --duration" {
	for by in group cluster switch; do
		set -- --by $by --seed 7 --runs 2 --duration 200ms --set 'switches[sw].slots=3' \
			--set 'switches[*].queue=fifo'
		parts 4 "$@"
		cmp <(innet-sim -q --json "$@" s.json) <(innet-sim -q --json --join parts)
	done
	jq -n '{ duration: "none", trainings: [{ iterations: 5 }], runs: 5 }' >s.json
	parts 2
	cmp <(innet-sim -q --csv s.json) <(innet-sim -q --csv --join parts)
}

@test "the summary covers all parts: runs, events, and the warning about the end of ages" {
	jq 'del(.sweep) | .workers[0].count = 2 | .duration = "1h"' s.json >t.json && mv t.json s.json
	whole=$(innet-sim s.json 2>&1 >/dev/null | sed 's/ in .* s (.*//')
	[[ $whole == "3 runs, "*" events"*"of the runs" ]]
	parts 2
	[ "$(innet-sim --join parts 2>&1 >/dev/null | sed 's/ in .* s (.*//')" = "$whole" ]
	run -0 --separate-stderr innet-sim --shard 2/2 --parts parts s.json
	[[ -z $output && $stderr =~ ^"part 2 of 2: 1 runs, "[0-9]+" events in "[^$'\n']+$ ]]
}

@test "an error lists missing parts in the form that sbatch --array accepts" {
	parts 9
	rm parts/2-of-9.part
	refused 1 "parts: missing part 2 of 9" --join parts
	rm parts/[45689]-of-9.part
	refused 1 "parts: missing parts 2,4-6,8-9 of 9" --join parts
	rm parts/*
	refused 1 "parts: the folder has no parts; write them with --shard and --parts" --join parts
	refused 1 "none: No such file or directory" --join none
}

@test "--join refuses parts of another sweep, scenario or number" {
	other() {
		parts 2
		innet-sim -q --shard 2/"${3:-2}" --parts parts "${@:4}" "$1"
		refused 1 "parts/2-of-${3:-2}.part: the $2 differs from that of parts/1-of-2.part" --join parts
	}
	other s.json seed 2 --seed 6
	other s.json 'number of runs' 2 --runs 2
	other s.json --by 2 --by cluster
	other s.json 'number of parts' 3
	other s.json scenario 2 --set 'switches[sw].slots=3'
	jq '.sweep["links[sw].rate"] += [ 1 ]' s.json >t.json
	other t.json scenario
	parts 2
	sed -i '1s/"innet-sim":"[^"]*"/"innet-sim":"0"/' parts/2-of-2.part
	refused 1 "parts/2-of-2.part: the version differs from that of parts/1-of-2.part" --join parts
}

@test "--join refuses parts if the schedule changed in between" {
	jq '.workers[0].schedule = "a.csv" | .workers[0].clusters = 1 | del(.sweep, .workers[0].arrivals)' \
		s.json >t.json && mv t.json s.json
	printf '%s\n' cluster,worker,time_ns,reward 1,0,5ms,1 >a.csv
	parts 2
	cmp <(innet-sim -q --json s.json) <(innet-sim -q --json --join parts)
	echo 1,1,6ms,1 >>a.csv
	innet-sim -q --shard 2/2 --parts parts s.json
	refused 1 "parts/2-of-2.part: the schedule differs from that of parts/1-of-2.part" --join parts
}

@test "an error names a damaged or duplicate part with its line" {
	parts 2
	cp parts/1-of-2.part parts/3-of-2.part
	refused 1 "parts/3-of-2.part: part 1 exists twice" --join parts
	head -n 4 parts/1-of-2.part >parts/3-of-2.part && mv parts/3-of-2.part parts/1-of-2.part
	refused 1 "parts/1-of-2.part: the file ends before line 5" --join parts
	damaged '4s/.$//' ':4: this line is not valid in a part'
	damaged '4s/"rows":\[\[[^]]*/"rows":[[1/' ':4: figures are missing'
	damaged '4s/"rows":\[\[/"rows":[[1,/' ':4: there are more figures than expected'
	damaged '4s/]]}$/],[]]}/' ':4: there are more rows than expected'
	damaged '4s/"rows":\[\[[^,]*/"rows":[[[]/' ':4: a figure is not a number'
	damaged '4s/"rows":\[\[[^,]*/"rows":[[99/' ': the file is damaged: its checksum is wrong'
	damaged '$d' ": the file ends before line $(wc -l <parts/1-of-2.part)"
	damaged 4d ":4: 'run' is missing or not valid"
	parts 2
	sed -i '1s/"by":"group"/"by":"nobody"/' parts/*.part
	refused 1 "parts/1-of-2.part:1: 'by' is missing or not valid" --join parts
	sed -i '1s/"by":"nobody"/"by":"training"/' parts/*.part
	refused 1 "parts/1-of-2.part:1: the rows that 'by' names cannot come from this scenario" --join parts
	parts 2
	tail -n 1 parts/1-of-2.part >>parts/2-of-2.part
	refused 1 "parts/2-of-2.part: the file has more lines than expected" --join parts
	rm parts/2-of-2.part
	for text in '' '{}' '{"of":1}' '{"of":1,"seed":0,"runs":1}'; do
		echo "$text" >parts/1-of-2.part
		run -1 --separate-stderr innet-sim --join parts
		[[ -z $output && $stderr == 'innet-sim: parts/1-of-2.part:1: '* ]]
	done
}

@test "--shard auto uses the position in Slurm's job array, for any first index and step" {
	rm -rf parts
	task() {
		SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_MIN=$2 SLURM_ARRAY_TASK_MAX=$3 SLURM_ARRAY_TASK_COUNT=$4 \
			SLURM_ARRAY_TASK_STEP=$5 innet-sim -q --shard auto --parts parts s.json
	}
	task 3 3 9 4 2
	task 9 3 9 4 2
	[ "$(ls parts | paste -sd' ')" = '1-of-4.part 4-of-4.part' ]
	run -2 --separate-stderr task 3 1 9 3 1
	[ "$stderr" = "innet-sim: --shard auto: the indices of the job array must have equal steps" ]
	refused 2 "--shard auto: SLURM_ARRAY_TASK_ID is not set; start the tool as a Slurm job array, or give a number" --shard auto --parts parts s.json
}

@test "sweep.sbatch: a job array under Slurm makes the parts, and remakes a lost one" {
	once
	python
	cluster
	sweep=$BATS_TEST_DIRNAME/../../share/examples/sweep.sbatch
	timeout -k 5 200 sbatch --wait --array=1-5 -o 'out.%a' "$sweep" parts s.json --seed 9 3>&-
	cmp <(innet-sim -q --csv --seed 9 s.json) <(innet-sim -q --csv --join parts)
	rm parts/[24]-of-5.part
	timeout -k 5 200 sbatch --wait --array=2,4 --export=ALL,PARTS=5 -o 'out.%a' "$sweep" parts s.json --seed 9 3>&-
	cmp <(innet-sim -q --csv --seed 9 s.json) <(innet-sim -q --csv --join parts)
	[[ $(cat out.4) == "part 4 of 5: 3 runs, "* ]]
	run -2 "$sweep" parts
}

@test "options that exclude each other are refused" {
	for part in 0/2 3/2 1/0 x/2 2 1/100001; do
		run -2 --separate-stderr innet-sim --shard $part --parts parts s.json
		[[ -z $output && $stderr == "innet-sim: invalid part '$part': "* ]]
	done
	refused 2 "--shard and --parts must be given together" --shard 1/2 s.json
	refused 2 "--shard and --parts must be given together" --parts parts s.json
	for how in --json --csv --total '--columns sent' '-w out'; do
		# shellcheck disable=SC2086
		refused 2 "--shard prints no results and writes no captures: give --json, --csv, --total and --columns with --join, and leave out -w" \
			--shard 1/2 --parts parts $how s.json
	done
	for how in s.json '--seed 1' '--runs 2' '--set a=1' '--by cluster' '--shard 1/2' '--duration 1s'; do
		# shellcheck disable=SC2086
		refused 2 "--join prints existing results and can be used only with --json, --csv, --total, --columns and -q" \
			--join parts $how
	done
	cp s.json 1-of-2.part
	refused 2 "--parts ./1-of-2.part would overwrite its own input" --shard 1/2 --parts . 1-of-2.part
}

@test "after a full disk or a signal, a part is complete or absent" {
	mkdir parts
	if [ -w /dev/full ]; then
		ln -s /dev/full parts/1-of-2.part
		refused 1 "parts/1-of-2.part: No space left on device" -q --shard 1/2 --parts parts s.json
		rm parts/*
	fi
	innet-sim -q --shard 1/2 --parts parts --jobs 1 --duration 10h --set 'workers[0].interval=1us' s.json 3>&- &
	pid=$!
	until [ "$(cut -d' ' -f22 /proc/$pid/stat)" ] && [ "$(cut -d' ' -f14 /proc/$pid/stat)" -gt 10 ]; do sleep 0.02; done
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	[ $rc -eq 143 ]
	[ -z "$(ls parts)" ]
}

@test "a sweep can have more points than a process can have memory maps" {
	jq '.duration = "1ns" | .runs = 1 | .sweep = { "switches[*].slots": [range(1; 301)],
	    "links[0].propagation": [range(10) | "\(.)ns"] }' s.json >t.json
	mkfifo out
	innet-sim -q --csv --total --columns sent t.json >out 3>&- & pids=$!
	# the results of all points are in memory before a line is written
	{
		read -r line
		[ "$(wc -l <"/proc/$pids/maps")" -lt 300 ]
		[ "$(wc -l)" -eq 3000 ]
	} <out
}
