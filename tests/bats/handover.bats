# Tests of a worker that joins late, or is killed and restarts: it copies the
# state of another worker. See innet-iswitch(7), FAILURE, and innet-stream(5).
bats_require_minimum_version 1.5.0
load common

# work W LOG OPTION...: start worker W of the job at $at in the background;
# $w<W> gets its process id
work() {
	local n=$1 log=$2
	shift 2
	innet-worker -p iswitch --json --switch "$at" --worker "$n" "$@" >"$log.json" 2>"$log.err" 3>&- &
	eval "w$n=$!"
	pids="$pids $!"
}

# vanish W: kill worker W, so that it sends no Leave
vanish() {
	eval "kill -9 \$w$1; wait \$w$1" || [ $? -eq 137 ]
}

@test "a synchronous worker that is killed and restarted continues where the others are" {
	while read -r size count enough; do
		serve at innet-switch --json -p iswitch -H 3
		for w in 0 1 2; do work $w o$w --synthetic $size --check 3 --interval 1ms -c $count; done
		results "$at" $enough
		vanish 2
		work 2 again --synthetic $size --check 3 --interval 1ms -c $count
		wait $w0
		wait $w1
		wait $w2 || { cat o2; false; }
		finish at
		grep -q 'took over the state of worker 0 (0 bytes) after iteration [0-9]*$' again.err
		jq -e --argjson n $count '.iterations > 0 and .iterations < $n' again.json
		jq -se --argjson n $count 'all(.iterations == $n)' o0.json o1.json
		tail -n 1 at.out | jq -e '.jobs["1"].counters | .fetches > 0 and .chunks > 0'
	done <<-'END'
	40kB 1000 3000
	3.31MB 100 50000
	END
}

@test "a restarted worker in a rack gets its state from a worker of the same rack or of another" {
	serve core innet-switch -q -p iswitch -H 2
	serve rack0 innet-switch -q -p iswitch --parent "$core" --number 0 -H 2
	serve rack1 innet-switch -q -p iswitch --parent "$core" --number 1 -H 1
	at=$rack0
	for w in 0 1; do work $w o$w --synthetic 40kB --check 3 --interval 2ms -c 1500; done
	at=$rack1
	work 2 o2 --synthetic 40kB --check 3 --interval 2ms -c 1500
	results "$rack0" 1000
	vanish 1
	at=$rack0 work 1 same --synthetic 40kB --check 3 --interval 2ms -c 1500
	results "$rack0" 4000
	vanish 2
	at=$rack1 work 2 other --synthetic 40kB --check 3 --interval 2ms -c 1500
	wait $w0
	wait $w1
	wait $w2
	grep -q 'took over the state of worker 0' same.err
	grep -q 'took over the state of worker 0' other.err
	finish rack1
	finish rack0
	finish core
}

@test "asynchronous: after a worker is killed and restarted, all have the same weights at each round" {
	serve at innet-switch --json -p iswitch --async -H 2 --keep 200kB
	for w in 0 1 2; do work $w o$w --async --synthetic 40kB --every 1 --interval 2ms; done
	results "$at" 4000
	vanish 2
	work 2 again --async --synthetic 40kB --every 1 --interval 2ms
	results "$at" 20000
	kill -TERM $w0 $w1 $w2
	wait $w0
	wait $w1
	wait $w2
	finish at
	grep -q 'took over the state of worker 0 (40000 bytes)' again.err
	[ "$(grep -c '"crc"' again.json)" -gt 20 ]
	# all workers report the same checksum for a round
	cat o0.json o1.json again.json | jq -s '[.[] | select(.crc)] | group_by(.round) |
		map(unique_by(.crc) | length) | max' | grep -qx 1
}

@test "if the worker with the lowest number is killed, another worker sends its state" {
	serve at innet-switch -q -p iswitch -H 3
	for w in 0 1 2; do work $w o$w --synthetic 40kB --check 3 --interval 1ms -c 1000; done
	results "$at" 3000
	vanish 0
	vanish 1
	work 0 again0 --synthetic 40kB --check 3 --interval 1ms -c 1000
	work 1 again1 --synthetic 40kB --check 3 --interval 1ms -c 1000
	wait $w0
	wait $w1
	wait $w2
	finish at
	grep -q 'took over the state of worker 2' again0.err again1.err
}

@test "a new worker joins late, and the others continue meanwhile, unless --strict" {
	export PYTHONPATH=$share/python
	python numpy
	cat >child.py <<-'E'
		import sys, time, numpy, innet_stream
		weights = numpy.zeros(1000, 'f4')
		def give():
		    time.sleep(float(sys.argv[1]))
		    return weights.tobytes()
		def take(state):
		    weights[:] = numpy.frombuffer(state, 'f4')
		stream = innet_stream.Stream(weights, give=give, take=take)
		while stream.iteration < 1000:
		    for r in stream.results(numpy.full(1000, stream.iteration + 1, 'f4')):
		        weights += r.vector / r.contributions
		    time.sleep(0.002)
		print(stream.iteration, weights.min(), weights.max(), file=sys.stderr)
	E
	for strict in '' --strict; do
		serve at innet-switch -q -p iswitch $strict
		for w in 0 1; do
			innet-worker -p iswitch -q --switch "$at" --worker $w -- "$py" child.py 0.4 2>o$w 3>&- &
			eval "w$w=$!"
			pids="$pids $!"
		done
		results "$at" 150
		innet-worker -p iswitch -q --switch "$at" --worker 2 -- "$py" child.py 0 2>o2 3>&- &
		w2=$! pids="$pids $!"
		wait $w0
		wait $w1
		wait $w2 || { cat o2; false; }
		finish at
		# the sum of 1 to 1000, which all workers have
		for w in 0 1 2; do grep -qx '1000 500500.0 500500.0' o$w; done
	done
}

@test "a worker that needs results that the switch no longer keeps catches up by state transfer" {
	serve at innet-switch -q -p iswitch -H 2 --keep 200
	for w in 0 1 2; do work $w o$w --synthetic 4kB --interval 1ms; done
	results "$at" 300
	kill -STOP $w2
	results "$at" 3000
	kill -CONT $w2
	within 20 grep -q 'took over the state of worker [01] (0 bytes)' o2.err || { cat o2.err; false; }
	kill $w0 $w1 $w2
	for w in 0 1 2; do
		eval "wait \$w$w" || { cat o$w.err; false; }
	done
	finish at
	jq -se 'all(.iterations > 0)' o?.json
}

@test "a worker that cannot send its state, or has no other worker to ask, reports this" {
	cat >child.py <<-'E'
		import struct, sys
		head = struct.Struct('<4sHHIfQII')
		put = sys.stdout.buffer
		for kind, n, body in (1, 15, b'{"elements":10}'), (4, 10, bytes(40)):
		    put.write(head.pack(b'INET', kind, 0, n, 0, 0, 1, 0) + body)
		put.flush()
		sys.stdin.read()
	E
	serve at innet-switch -q -p iswitch -H 2
	for w in 0 1; do work $w o$w --synthetic 40B --interval 1ms; done
	results "$at" 100
	run -1 --separate-stderr timeout 20 innet-worker -q -p iswitch --switch "$at" --worker 5 -- python3 child.py
	[[ $stderr == *"restore the weights of iteration "* ]]
	[[ $stderr == *'its hello has no "state"'* ]]
	kill -TERM $w0 $w1
	wait $w0
	wait $w1
	finish at
}

@test "innet-agent is killed and replaced: all end with the same weights" {
	once training
	serve at innet-switch -q -p iswitch -H 3
	for w in 0 1 2; do
		innet-worker -p iswitch --switch "$at" --worker $w --give-up 3s -- \
			innet-agent -q --steps 600k --seed 1 --save m$w 2>o$w 3>&- &
		eval "w$w=$!"
		pids="$pids $!"
	done
	results "$at" 5000
	vanish 2
	innet-worker -p iswitch --switch "$at" --worker 2 --give-up 3s -- \
		innet-agent -q --steps 600k --seed 9 --save m2 2>o2 3>&- &
	w2=$! pids="$pids $!"
	wait $w0
	wait $w1
	wait $w2 || true	# the other workers have done more iterations, and have left
	finish at
	grep -q 'took over the state of worker 0' o2
	cmp m0 m1
	cmp m0 m2
}

@test "a PyTorch script is killed and replaced: all end with the same weights" {
	once training
	python torch
	export PYTHONPATH=$share/python
	cat >script.py <<-'E'
		import sys, torch, innet_stream
		torch.manual_seed(1)
		net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
		optimizer = torch.optim.Adam(net.parameters(), 1e-2)
		stream = innet_stream.wrap(optimizer)
		torch.manual_seed(1 + stream.worker)
		while stream.iteration < 1500:
		    x = torch.randn(32, 4)
		    optimizer.zero_grad()
		    ((net(x) - x[:, :2] * x[:, 2:]) ** 2).mean().backward()
		    optimizer.step()
		torch.save([p.detach() for p in net.parameters()], sys.argv[1])
		with open(sys.argv[1] + '.raw', 'wb') as f:
		    for p in net.parameters():
		        f.write(p.detach().numpy().tobytes())
	E
	serve at innet-switch -q -p iswitch -H 3
	for w in 0 1 2; do
		innet-worker -q -p iswitch --switch "$at" --worker $w -- "$py" script.py s$w 2>o$w 3>&- &
		eval "w$w=$!"
		pids="$pids $!"
	done
	results "$at" 100
	vanish 2
	innet-worker -p iswitch --switch "$at" --worker 2 -- "$py" script.py s2 2>again 3>&- &
	w2=$! pids="$pids $!"
	wait $w0
	wait $w1
	wait $w2
	finish at
	grep -q 'took over the state of worker 0' again || { cat again; false; }
	cmp s0.raw s1.raw
	cmp s0.raw s2.raw
}

@test "asynchronous: after the switch is killed and restarted, all continue from the weights of one worker" {
	serve at innet-switch -q -p iswitch --async -H 2
	for w in 0 1 2; do work $w o$w --async --synthetic 40kB --every 1 --interval 2ms --give-up 10s; done
	results "$at" 4000
	kill -9 "$at_pid"
	wait "$at_pid" || true
	# the round before the restart may be repeated, from the weights of one
	# worker
	last=$(jq -s '[.[] | select(.crc).round] | max + 1' o?.json)
	innet-switch -q -p iswitch --async -H 2 --listen "$at" 3>&- &
	at_pid=$! pids="$pids $!"
	results "$at" 10000
	kill -TERM $w0 $w1 $w2
	wait $w0
	wait $w1
	wait $w2
	finish at
	jq -s --argjson last "$last" '[.[] | select(.crc and .round > $last)] | group_by(.round) | map(unique_by(.crc) | length) | max' o?.json | grep -qx 1
}
