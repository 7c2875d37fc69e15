# innet's workers and the published programs of DLP, by their twins.
load common

twins=$BATS_TEST_DIRNAME/../twins

# twin KIND WORKERS STEPS [WORD...]: one at $to; counts in twin.json at its end
twin() {
	local kind=$1
	shift
	rm -f twin.port
	python3 -B "$twins/dlp_twin.py" "$kind" twin.port "$@" >twin.json 3>&- &
	twin=$!
	pids="$pids $twin"
	await twin.port
	to=127.0.0.1:$(cat twin.port)
}

# crew N [OPTION...]: N synthetic workers; wK.json each, $lead of the first
crew() {
	local n=$1 w crew=''
	shift
	for w in $(seq "$n"); do
		innet-worker --json -p dlp --switch "$to" --synthetic 24B --interval 1ns --seed "$w" \
			--give-up 10s $([ "$w" -gt 1 ] || echo "${lead-}") "$@" >"w$w.json" 2>"w$w.err" 3>&- &
		crew="$crew $!"
	done
	pids="$pids $crew"
	for w in $crew; do wait "$w"; done
	wait "$twin"
}

# A child that sends i times its argument in step i, after a while if told to,
# and prints what comes back.
child() {
	cat >child.py <<-'E'
		import struct, sys, time
		head = struct.Struct('<4sHHIfQII')
		def say(kind, body, n):
		    sys.stdout.buffer.write(head.pack(b'INET', kind, 0, n, 0, 0, 1, 0) + body)
		    sys.stdout.buffer.flush()
		def hear():
		    h = head.unpack(sys.stdin.buffer.read(32))
		    return h, sys.stdin.buffer.read(h[3] if h[1] == 1 else 4 * h[3])
		say(1, b'{"elements":2}', 14)
		say(4, bytes(8), 2)
		hear()
		for i in range(1, 5):
		    time.sleep(float(sys.argv[2]))
		    say(2, struct.pack('<2f', i * float(sys.argv[1]), 1), 2)
		    h, body = hear()
		    print('%d: %g %g' % (i, *(v / h[6] for v in struct.unpack('<2f', body))), file=sys.stderr)
	E
}

# family [OPTION...]: children with 1, 2, 3, 4 and, a while later, 40
family() {
	local x crew=''
	child
	for x in 1 2 3 4 40; do
		innet-worker -q -p dlp --switch "$to" --give-up 10s "$@" $([ "$x" -gt 1 ] || echo "${lead-}") -- \
			python3 child.py "$x" "$([ "$x" -eq 40 ] && echo 0.15 || echo 0)" 2>"child-$x" 3>&- &
		crew="$crew $!"
	done
	pids="$pids $crew"
	for x in $crew; do wait "$x"; done
	wait "$twin"
}

@test "the twin of the published server answers as was captured, byte for byte" {
	local data=$BATS_TEST_DIRNAME/../data
	twin server 5 100 linger
	dlpplay "$data/dlp-avg_agg_udp_bcast-5w.pcapng" 12344 "$to" >out
	[ "$(cat out)" = "519 sent, 514 answers as captured" ]
	twin server 5 100 median late linger
	dlpplay "$data/dlp-med_agg_udp_tmout-5w.pcapng" 12344 "$to" >out
	[ "$(cat out)" = "926 sent, 921 answers as captured" ]
}

@test "five places of the published server: each worker takes one, and all learn" {
	for how in '' median late 'median late'; do
		twin server 5 30 $how
		crew 5 $([[ $how != median* ]] || echo --reduce median)
		jq -e '.places == 5 and .steps == 30 and .gradients == 150' twin.json
		jq -se 'length == 5 and all(.results == 30 and .sessions == 1) and
			(map(.worker) | sort == [0, 1, 2, 3, 4])' w?.json
	done
}

@test "what the published server answers is the mean, and the median, though one is slow" {
	twin server 5 4
	family
	for x in 1 2 3 4 40; do [ "$(cat child-$x)" = $'1: 10 1\n2: 20 1\n3: 30 1\n4: 40 1' ]; done
	twin server 5 4 median
	family --reduce median
	for x in 1 2 3 4 40; do [ "$(cat child-$x)" = $'1: 3 1\n2: 6 1\n3: 9 1\n4: 12 1' ]; done
}

@test "the published switch: CONFIGURE is answered in kind, and each worker takes one place" {
	lead='--session nodes=5,iterations=30'
	for how in '' late; do
		twin switch 0 0 $how
		crew 5
		jq -e '.places == 5 and .steps == 30 and .gradients == 150 and .twice == 0' twin.json
		jq -se 'all(.results == 30) and (map(.worker) | sort == [0, 1, 2, 3, 4])' w?.json
	done
}

@test "who gives up names who is missing, as far as it can know" {
	twin server 3 30
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 400ms
	[[ $stderr == *"last heard: state 1 (SETUP), step 0, 1 of 3 workers" ]]
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 400ms
	[[ $stderr == *"last heard: state 1 (SETUP), step 0, 2 of 3 workers" ]]
}

@test "no gradient counts twice at the published switch, however long one waits" {
	lead='--session nodes=5,iterations=4'
	twin switch 0 0
	family
	jq -e '.gradients == 20 and .twice == 0' twin.json
	for x in 1 2 3 4 40; do [ "$(cat child-$x)" = $'1: 10 1\n2: 20 1\n3: 30 1\n4: 40 1' ]; done
}
