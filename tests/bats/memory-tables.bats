# Tests of replay tables and checkpoints of innet-memory with redis-cli and
# python3-redis; memory-per.bats and memory-faults.bats test more.
load common

# start [OPTION...]: start a server at $port
start() {
	command -v redis-cli >/dev/null || skip "no redis-cli"
	serve m $slow innet-memory -q --touch 1MB "$@"
	port=$(cat m.port)
}

stop_it() {
	kill "${1--TERM}" "$m_pid"
	wait "$m_pid"
}

cli() { timeout 60 redis-cli -p "$port" "$@"; }

# info NAME and per_info NAME: print a number of INFO, or of PER.INFO for table
# t
info() { cli info everything | tr -d '\r' | sed -n "s/^$1://p"; }
per_info() { cli per.info t | awk -v what="$1" 'found { print; exit } $0 == what { found = 1 }'; }

# until_info NAME NUMBER: wait up to 10 s until INFO has this number
until_info() {
	for _ in $(seq 500); do
		[ "$(info "$1")" != "$2" ] || return 0
		sleep 0.02
	done
	echo "$1 is $(info "$1"), not $2, after 10 s" >&2
	return 1
}

# script WORD...: run the Python program on standard input, in which X() sends a
# command
script() {
	python redis
	{
		echo 'import sys, struct, redis'
		echo 'X = redis.Redis(port=int(sys.argv[1])).execute_command'
		cat
	} | timeout 60 "$py" - "$port" "$@"
}

@test "a wrong request gets an error that explains it, and changes nothing" {
	start
	cli per.create t capacity 4 >/dev/null
	cli per.create f capacity 4 >/dev/null
	cli per.frames f 3 1 >/dev/null
	while IFS='|' read -r words error; do
		run -0 cli $words
		[[ $output == "$error"* ]] || { echo "$words: $output" >&2; return 1; }
	done <<-'END'
		per.create t capacity 9|ERR a table 't' exists already
		per.create u capacity 0|ERR capacity '0' (argument 3): not a whole number from 1 to 2147483648
		per.create u alpha 1|ERR capacity is missing; a table needs one
		per.create u capacity 4 alpha 5|ERR alpha '5' (argument 5): not a number from 0 to 4
		per.create u capacity 4 selector best|ERR selector (argument 5): not one of per, uniform, fifo, lifo
		per.create u capacity 4 ratio 2 1|ERR ratio (arguments 5 and 6): the upper limit is below the lower one
		per.create u capacity 4 times|ERR times: its value is missing
		per.create u capacity 4 colour red|ERR argument 4: unknown option 'colour'
		per.create u capacity 2147483648|OOM command not allowed
		per.add u 1 x|ERR no table 'u'; create it with PER.CREATE
		per.add t 1 x 2|ERR give one or more pairs of a priority and a blob: 3 arguments are left
		per.add t 1 x -1 y|ERR priority '-1' (argument 4): not a number from 0 to 3.40282e+38
		per.add t frames 1 abc 1 x|ERR frames: the table has none; declare them with PER.FRAMES
		per.add f 1 abcde|ERR blob (argument 3): 5 bytes, less than the 6 of 2 frames
		per.add f frames 1 ab 1 abcd|ERR frame 0 (argument 4): 2 bytes, not the 3 of a frame of this table
		per.add f frames 5 abc 1 abcd|ERR frames: 5 should follow, but only 3 arguments do
		per.add f frames 1 abc 1 abcd|ERR blob (argument 6): it refers to frame 25185 of 1
		per.sample t 1|LIMIT the table holds 0 experiences, but 1 are requested
		per.sample t 1 refs|ERR refs: the table has no frames; declare them with PER.FRAMES
		per.sample t 0|ERR batch '0' (argument 2): not a whole number from 1 to 2147483648
		per.update t 1 1 x 1|ERR id 'x' (argument 4): not a whole number from 0
		per.update t 1 1 2 max|ERR priority 'max' (argument 5): not a number from 0
		per.remove t 1 -1|ERR id '-1' (argument 3): not a whole number from 0
		per.limit t limit 1 2|ERR argument 2: unknown option 'limit'
		per.frames t 1000000 33|ERR stack '33' (argument 3): not a whole number from 1 to 32
		per.frames t 100000000 32|ERR bytes (argument 2) and stack (argument 3): an experience with such frames would exceed 512 MB
		per.dump t count 0|ERR count '0' (argument 3): not a whole number from 1 to 100000
		per.save|ERR no file to save to: the server was started without --save
	END
	[ "$(per_info inserted)$(per_info have)$(per_info stale)" = 000 ]
	[ "$(info tables)" = 2 ]
}

@test "draws are proportional to the priority to the power alpha, with the weights of the formula" {
	start --seed 11
	script <<-'END'
		N, BATCH, TURNS, ALPHA, BETA = 64, 64, 500, .6, .7
		for how in (), ("stratified",):
		    name = "t%d" % len(how)
		    X("per.create", name, "capacity", 100, "alpha", ALPHA)
		    ids = X("per.add", name, *(w for i in range(N) for w in (i + 1, b"%d" % i)))
		    share = {i: (k + 1) ** ALPHA for k, i in enumerate(ids)}
		    total, drawn = sum(share.values()), dict.fromkeys(ids, 0)
		    for turn in range(TURNS):
		        got, p, w, blobs = X("per.sample", name, BATCH, "beta", BETA, *how)
		        p, w = list(map(float, p)), list(map(float, w))
		        most = max((N * x) ** -BETA for x in p)
		        for i, x, y, b in zip(got, p, w, blobs):
		            assert abs(x - share[i] / total) < 1e-4 * x, (x, share[i] / total)
		            assert abs(y - (N * x) ** -BETA / most) < 1e-5, (y, x)
		            assert b == b"%d" % ids.index(i)
		            drawn[i] += 1
		    chi2 = sum((drawn[i] - BATCH * TURNS * share[i] / total) ** 2 * total /
		               (BATCH * TURNS * share[i]) for i in ids)
		    assert chi2 < 120, chi2     # 63 degrees of freedom: chance exceeds this once in 70,000 runs
		    assert chi2 > 28 or how, chi2
	END
}

@test "frames by value and by reference, also with large tails, are the same after a restart" {
	start --save ck
	cat >film.py <<-'END'
		F, S = 5000, 3
		frame = [bytes([i]) * F for i in range(40)]
		tail = lambda t: b"%d " % t * (t * 400)
		whole = lambda t: b"".join(frame[t:t + S] + frame[t + 1:t + S + 1]) + tail(t)
		def ref(t, at):
		    return struct.pack("<6H", *(t + k - at for k in (0, 1, 2, 1, 2, 3))) + tail(t)
		def check():
		    fields = X("per.info", "t")
		    of = dict(zip(fields[::2], fields[1::2]))
		    assert of[b"frames"] == 33 and of[b"frames_bytes"] == 33 * F, of
		    want = sorted(whole(t) for t in range(30))
		    assert sorted(X("per.sample", "t", 30)[3]) == want
		    blobs, frames = X("per.sample", "t", 30, "refs")[3:]
		    assert len(frames) == 33
		    got = [b"".join(frames[k] for k in struct.unpack("<6I", b[:24])) + b[24:] for b in blobs]
		    assert sorted(got) == want
	END
	script <<-END
		$(cat film.py)
		X("per.create", "t", "capacity", 100, "selector", "fifo")
		X("per.frames", "t", F, S)
		for t in range(0, 10):
		    X("per.add", "t", 1, whole(t))
		for t in range(10, 30, 5):
		    X("per.add", "t", "frames", 8, *frame[t:t + 8],
		      *(w for i in range(t, t + 5) for w in (1, ref(i, t))))
		check()
	END
	stop_it
	start --save ck
	printf '%s\n' "$(cat film.py)" 'check()' 'X("flushall")' >check.py
	script <check.py
	script <<<"assert X('per.list') == []"
}

@test "without memory for a whole request the server stores none of it and loses nothing" {
	start --memory 2MB --save ck
	script <<-'END'
		X("per.create", "t", "capacity", 1000)
		n, why = 0, None
		while not why:
		    try:
		        n += len(X("per.add", "t", *[1, "x" * 3000, 1, "y" * 9000] * 10))
		    except redis.RedisError as e:
		        why = str(e)
		assert why.startswith("OOM ") and "2000000 allowed" in why, why
		of = X("per.info", "t")
		assert of[of.index(b"have") + 1] == n == of[of.index(b"inserted") + 1] and n > 100, (n, of)
		assert sorted(map(len, X("per.sample", "t", 100)[3]))[0] == 3000
	END
	stop_it
	run -1 --separate-stderr timeout 20 innet-memory -q --memory 1100000 --listen 127.0.0.1:0 --save ck
	[[ $stderr == "innet-memory: ck: byte "*": no memory for "* ]]
	start --memory 2MB --save ck
	[ "$(per_info have)" -gt 100 ]
}

# slow_disk: set $slow, a prefix for a command; its fsync() then waits while the
# file "hold" exists, and fails once if the file "fail" exists
slow_disk() {
	[[ $COMPILE != *-fsanitize* ]] || skip "a sanitizer is to be loaded first"
	(cd "$builddir" && $COMPILE -shared -fPIC -o "$OLDPWD/hold-fsync.so" \
		"$BATS_TEST_DIRNAME/hold-fsync.c" -ldl)
	slow="env LD_PRELOAD=$PWD/hold-fsync.so"
}

@test "the server serves others while a save is stuck; a save that is requested meanwhile runs afterwards" {
	slow_disk
	start --save ck
	cli set a b >/dev/null
	touch hold fail
	cli per.save >first 3>&- &
	until_info save_in_progress 1
	cli per.save >second 3>&- &
	until_info blocked_clients 2
	[ "$(cli ping)" = PONG ]
	rm hold
	until_info blocked_clients 0
	await second
	[[ $(cat first) == "ERR ck: not saved: Input/output error" ]]
	[ "$(cat second)" = OK ]
	[ "$(head -c 8 ck)" = INNETMEM ]
	[ "$(info saves) $(info saves_failed)" = "1 1" ]
	stop_it
}

@test "if the child that saves is killed, the server reports it and continues" {
	slow_disk
	start --save ck
	cli per.save
	touch hold
	cli per.save >first 3>&- &
	until_info save_in_progress 1
	kill -KILL "$(pgrep -P "$m_pid")"
	await first
	[[ $(cat first) == "ERR ck: not saved: the process that writes the file was ended by signal 9"* ]]
	[ ! -e ck.tmp ]
	rm hold
	[ "$(cli per.save)" = OK ]
	stop_it
}

@test "the server reports an unusable --save file at the start, and a full disk when it saves" {
	mkdir folder && mkfifo pipe && touch empty
	while IFS='|' read -r file why; do
		run -1 --separate-stderr timeout 20 innet-memory --listen 127.0.0.1:0 --save $file
		[ "$stderr" = "innet-memory: $file: $why" ]
	done <<-'END'
		no/such/file|No such file or directory
		folder|not a regular file
		pipe|not a regular file
		empty|byte 0: too short for a checkpoint: 0 bytes
	END
	start --save /dev/full
	[ "$(cli per.save)" = "ERR /dev/full: not saved: No space left on device" ]
	stop_it || status=$?
	[ "$status" -eq 1 ]
	[ "$(tail -n 1 m.err)" = "innet-memory: /dev/full: not saved: No space left on device" ]
}

@test "the server names a damaged file and the place, and removes a stale temporary file" {
	start --save ck
	cli set a bcd >/dev/null
	stop_it
	echo half >ck.tmp
	start --save ck
	[ ! -e ck.tmp ]
	[ "$(cli get a)" = bcd ]
	printf X | dd of=ck bs=1 seek=$(($(stat -c %s ck) - 6)) conv=notrunc status=none
	[ "$(cli per.load)" = "ERR ck: byte $(($(stat -c %s ck) - 4)): damaged: the CRC-32C is wrong" ]
	[ "$(cli get a)" = bcd ]
	stop_it -KILL || true
	run -1 --separate-stderr timeout 20 innet-memory --listen 127.0.0.1:0 --save ck
	[[ $stderr == "innet-memory: ck: byte "*": damaged: "* ]]
}
