# Tests of a learner that ends and another that resumes from its checkpoint.
load common
load apex

# weights FILE: print the bytes of the weights in a policy or a checkpoint
weights() {
	local n
	n=$(od -An -tu4 -j8 -N4 "$1")
	tail -c +$((n + 2 * 32 + 1)) "$1" | head -c $((4610 * 4))
}

# stored FILE: write the parameters that the server stores for actors to FILE
stored() { cli --raw GET innet:params | head -c -1 >"$1"; }

# gradients FILE: print the number of gradients at which the checkpoint FILE was
# saved, as --load -v reports it
gradients() {
	innet-agent -qv --role learner $at --algo dqn --replay per --load "$1" \
		--gradients 1 2>&1 |
		sed -n 's/.*steps, \([0-9]*\) gradients$/\1/p'
}

@test "a learner that is killed during training resumes at its step, with its weights" {
	local n
	table
	actors 2 --algo dqn
	innet-agent -q --role learner $at --algo dqn --replay per --save ck --save-every 50 2>l.err 3>&- &
	lrn=$! pids="$pids $!"
	await ck
	kill -KILL $lrn
	wait $lrn || [ $? -eq 137 ]
	[ "$(cli EXISTS innet:replay)" = 1 ]
	cp ck killed
	n=$(gradients killed)
	[ $((n % 50)) -eq 0 ]
	[ "$n" -ge 50 ]
	ended		# that learner had nothing left to do, and printed this
	stored p
	weights p >was
	weights killed | cmp - was
	actors 2 --algo dqn
	learner -v --algo dqn --replay per --load killed --gradients $((n + 200)) --save ck --save-every 50 2>l.err
	grep -q "^innet-agent: killed: .* steps, $n gradients" l.err
	ended
	jq -e --argjson n "$n" '.gradients == $n + 200 and .sample.count <= 202' l.json
	[ "$(gradients ck)" -eq $((n + 200)) ]
}

@test "if no actor adds experiences, a learner that resumes reaches the same weights, bit for bit" {
	set -- -q --algo dqn --no-prefetch --save-every 1000
	table --save kept
	actors 1 --algo dqn --n-step 1	# few episodes end there, so targets count
	learner -q --algo dqn --gradients 1
	ended
	cli DEL innet:params
	cli PER.SAVE
	kill -9 "$memory_pid"
	cp kept was
	table --save kept --seed 7
	learner "$@" --gradients 60 --save whole
	kill -9 "$memory_pid"
	cp was kept
	table --save kept --seed 7
	learner "$@" --gradients 30 --save ck
	learner "$@" --gradients 60 --load ck --save again --seed 5
	cmp whole again
	run ! cmp -s ck again
}

@test "a new learner begins with the experiences in the table, unless --clear empties it" {
	table
	actors 1 --algo dqn
	learner --algo dqn --gradients 50 --save one
	ended
	# a step of 1e-30 changes nothing, so every draw comes from the loaded
	# memory
	learner --algo dqn --gradients 1 --learning-rate 1e-30 --seed 9 --save two
	cmp one two
	run -1 learner -q --algo dqn --hidden 32
	[[ $output == "innet-agent: $memory: innet:params: parameters of another length than this agent's; give --clear to remove them" ]]
	run -1 learner -q --algo dqn --clear --give-up 3s
	[ "$output" = "innet-agent: $memory: no experiences to learn from for 3 s: the memory has 0 experiences and needs 1000" ]
	[ "$(cli LLEN innet:rewards)" = 0 ]
}

@test "a new learner sets the rate limits of a table that already exists" {
	table
	actors 1 --algo dqn
	learner --algo dqn --gradients 1
	ended
	learner -q --algo dqn --ratio 4:8 --gradients 1
	[ "$(cli PER.INFO innet:replay | paste - - | grep -E '^(ratio_|slack)' | tr '\t\n' ' ')" = "ratio_lo 4 ratio_hi 8 slack 2000 " ]
}

@test "the learner refuses a table with another way to draw, or with other properties" {
	local how is or load other
	table
	other="innet-agent: $memory: innet:replay: the"
	for how in uniform per; do
		actors 1 --algo dqn
		learner -q --algo dqn --replay $how --clear --gradients 1
		ended
		learner -q --algo dqn --replay $how --gradients 1 --save $how \
			--save-every 1
	done
	while IFS='|' read -r how is or; do
		for load in '' '--load uniform'; do
			run -1 learner -q --algo dqn --replay $how $load \
				--gradients 1 </dev/null
			[ "$output" = "$other $is; give --clear to remove the table, or $or" ]
		done
	done <<-'END'
	uniform|selector of the table is per, not uniform|--replay per to use it
	per --buffer 600|capacity of the table is 50000, not 600|leave out --buffer to use it
	per --alpha 0.5|alpha of the table is 0.4, not 0.5|leave out --alpha to use it
	END
	learner -q --algo dqn --replay per --buffer 50000 --alpha 0.4 \
		--load per --gradients 2
	cli PER.DROP innet:replay
	cli PER.CREATE innet:replay capacity 9 alpha 1 selector fifo
	run -1 learner -q --algo dqn
	is='selector of the table is fifo, not uniform'
	[ "$output" = "$other $is; give --clear to remove the table" ]
	[ "$(cli EXISTS innet:end)" = 1 ]	# no experience has been added
}

@test "options that exclude each other are misuse" {
	run -2 innet-agent --role actor --replay-memory x --load y
	[[ $output == *"--role actor cannot be used with --solve, --save, --load or --clear, which are options of the learner" ]]
	run -2 innet-agent --alone --algo dqn --clear
	[ "$output" = "innet-agent: --clear needs --role learner" ]
	table
	innet-agent -q --alone --algo a2c --steps 5k --save ck --save-every 1
	run -1 learner -q --algo dqn --load ck
	[ "$output" = "innet-agent: ck: the checkpoint was written by a2c on cartpole, not by dqn on cartpole; give the same --algo and --env" ]
}
