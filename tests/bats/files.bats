# Tests of every option and operand that names a file, with files of every kind.
# Either the tool works, or it prints one line with the reason and exits with
# status 1.
load common

# Commands that read files: FILE|COMMAND, in which @ stands for the file and %x
# for another file that the test writes.
reads='policy|innet-agent -q --eval @ --episodes 2
policy|innet-agent -q --alone --steps 10 --load @
wrong|innet-agent -q --role actor --algo dqn --replay-memory %memory --password-file @
out.pcap|innet-aom -q -r @
in.pcap|innet-aom -q -r out.pcap --sent @
report|innet-aom -q -r out.pcap --sent in.pcap --counters @
out.pcap|innet-aom -q -r in.pcap --compare @
in.pcap|innet-aom -q -r in.pcap --compare out.pcap --compare-sent @
report|innet-aom -q -r in.pcap --compare out.pcap --compare-sent in.pcap --compare-counters @
table|innet-aom -q -r bare.pcap --format bare --cluster-table @
format|innet-aom -q -r in.pcap --format @
key|innet-ctl --key @ %switch jobs
other|innet-ctl --command-key @ %switch jobs
schedule|innet-gen -q --schedule @ -w %x
password|innet-memory -q --listen 127.0.0.1:0 --touch 1MB --duration 10ms --password-file @
in.pcap|innet-plot --script cdf @
table|innet-plot --script cdf bare.pcap --format bare --cluster-table @
weights|innet-ps -q --listen :0 --duration 10ms --load @
key|innet-ps -q --listen :0 --duration 10ms --key @
other|innet-ps -q --listen :0 --duration 10ms --key key --command-key @
secret|innet-ps -q --listen :0 --duration 10ms --secret @
in.pcap|innet-replay -q -w %x -r @
scenario|innet-sim -q @
in.pcap|innet-switch -q -w %x -r @
out.pcap|innet-switch -q --rate 1M -r in.pcap -w %x --departures @
table|innet-switch -q --format bare -r bare.pcap -w %x --cluster-table @
key|innet-switch -q -p iswitch --listen :0 --duration 10ms --key @
other|innet-switch -q -r in.pcap -w %x --key key --command-key @
secret|innet-switch -q -r in.pcap -w %x --secret @
spec|innet-verify -q --objective no-loss -w %x @
key|innet-worker -q -p iswitch --worker 0 --switch %switch --synthetic 4B --interval 1ms -c 2 --key @'

# Commands that write files: SUFFIX|COMMAND, in which @ stands for the file.
writes='|innet-agent -q --alone --steps 10 --log @
|innet-agent -q --alone --steps 10 --save @
|innet-agent -q --alone --steps 10 --report @
|innet-aom -q -r out.pcap --series @
|innet-gen -q -c 5 -w @
|innet-gen -q -c 5 --format bare -w %x --cluster-table @
|innet-memory -q --listen 127.0.0.1:0 --touch 1MB --duration 10ms --port-file @
|innet-memory -q --listen 127.0.0.1:0 --touch 1MB --duration 10ms --save @
.svg|innet-plot cdf in.pcap -w @
.html|innet-plot page in.pcap -w @
|innet-ps -q --listen :0 --duration 10ms --load weights --save @
|innet-ps -q --listen :0 --duration 10ms -w @
|innet-ps -q --listen :0 --duration 10ms --write-in @
|innet-ps -q --listen :0 --duration 10ms --port-file @
|innet-ps -q --listen :0 --duration 10ms --report @
|innet-replay -q -r in.pcap -w @
|innet-switch -q -r in.pcap -w @
|innet-switch -q -r in.pcap -w %x --report @
|innet-switch -q --upstream 127.0.0.1:9 --listen :0 --duration 10ms -w @
|innet-switch -q --upstream 127.0.0.1:9 --listen :0 --duration 10ms --write-in @
|innet-switch -q --upstream 127.0.0.1:9 --listen :0 --duration 10ms --port-file @
|innet-switch -q --upstream 127.0.0.1:9 --listen :0 --duration 10ms --report @
|innet-verify -q --objective no-loss spec -w @
|innet-worker -q -p iswitch --worker 0 --switch %switch --key key --synthetic 4B --interval 1ms -c 2 -w @'

# Options for folders and sockets, which other tests cover: TOOL OPTION
apart='innet-memory --unix
innet-sim -w
innet-sim --parts
innet-sim --join
innet-switch --taps'

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	local one=$srcdir/share/scenarios pids=''
	innet-gen -q --clusters 2 --workers 2 -c 5 --interval 1ms -w in.pcap
	innet-gen -q --clusters 2 --workers 2 -c 5 --interval 1ms --format bare --cluster-table table -w bare.pcap
	innet-switch -q --rate 1M -r in.pcap -w out.pcap --report report
	printf 'cluster,worker,time_ns,reward\n1,1,50,0.5\n' >schedule
	echo '{"filter":"udp","generated":{"at":8,"type":"u64"}}' >format
	(umask 077; for f in key other secret; do head -c 32 /dev/urandom >$f; done)
	echo 'se cret' >password
	echo another >wrong
	innet-agent -q --alone --steps 300 --save-every 1 --save policy
	serve ps innet-ps -q --save weights
	innet-worker -q --switch "$ps" --synthetic 4B -c 10 --interval 20ms
	finish ps
	jq '.workers[0].count = 5 | del(.sweep)' "$one/olaf-table1.json" >scenario
	cp "$one/verify/one-slot.json" spec
}

setup() {
	for t in innet-agent innet-memory innet-verify; do
		[[ " $TOOLS " == *" $t "* ]] || skip "not all tools are here"
	done
	cp -R "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR/d"
	cd "$BATS_TEST_TMPDIR/d" || return
	pids=''
	serve switch innet-switch -q -p iswitch -H 1 --key key --command-key other
	serve memory innet-memory -q --touch 1MB --password-file password
}

# of COMMAND FILE [MADE]: put the words of the command into the array $cmd
of() {
	local c=${1//@/$2}
	c=${c//%x/${3-x}} c=${c//%switch/$switch}
	read -ra cmd <<<"${c//%memory/$memory}"
}

# go COMMAND FILE: run the command; $rc gets its exit status, and the file err
# its messages except for the listening address
go() {
	of "$@"
	rc=0
	timeout -k 1 30 "${cmd[@]}" >out 2>said </dev/null 3>&- || rc=$?
	grep -v '^listening on ' said >err || true
}

# wrong FILE: check that the command printed one line with FILE and the reason,
# and exited with status 1
wrong() {
	[ $rc -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$1: " err ||
		{ echo "${cmd[*]}: status $rc"; cat err; return 1; }
}

# same WANT: check that the exit status is WANT, and that the other messages are
# the same as with a plain file
same() {
	[ $rc -eq "$1" ] && cmp -s <(sed 's/\bother-one\b/F/' err) <(sed "s/\b$good\b/F/" want) ||
		{ echo "${cmd[*]}: status $rc, not $1"; cat err; return 1; }
}

@test "the tables of this test list every option that names a file" {
	for t in $TOOLS; do
		for o in $("$t" --help | grep -vE '=(FILE|PATH)=' | sed -nE 's/^  (-.), --[a-z-]*=(FILE|DIR|PATH)\b.*/\1/p
			s/^      (--[a-z-]*)=(FILE|DIR|PATH)\b.*/\1/p'); do
			grep -qE "^[^|]*\|$t .*$o @|^$t $o$" <<<"$reads
				$writes
$apart" || { echo "$t $o"; return 1; }
		done
	done
}

@test "tools read symbolic links and pipes like files" {
	while IFS='|' read -r good command; do
		go "$command" "$good"
		want=$rc
		cp err want
		ln -sf "$good" other-one
		go "$command" other-one
		same $want
		rm other-one
		mkfifo other-one
		cat "$good" >other-one & writer=$!
		go "$command" other-one
		same $want
		kill $writer 2>/dev/null || true
		wait $writer || true
		rm other-one
	done <<<"$reads"
}

@test "a tool reports a file that it cannot read in one line" {
	mkdir folder
	ln -s nowhere dangling
	ln -s round round
	while IFS='|' read -r good command; do
		cp "$good" closed
		chmod 0 closed
		for f in folder dangling round ./none; do
			go "$command" $f
			wrong $f
		done
		go "setpriv --inh-caps=-all --bounding-set=-all $command" ./closed
		wrong ./closed
		rm -f closed
	done <<<"$reads"
}

# begun N: wait until command N reports that it waits for the other end of fifoN
begun() {
	within 20 grep -q "^innet-[a-z]*: fifo$1[.a-z]*: waiting for " "$1.err" ||
		{ cat "$1.err"; return 1; }
}

# ends N: wait for background job N and put its exit status into $rc
ends() {
	rc=0
	wait "${waits[$1]}" || rc=$?
}

# all_wait TABLE: start the command of each line on a pipe that no process has opened
all_wait() {
	n=0
	waits=()
	while IFS='|' read -r f command; do
		[[ $f != .* ]] || suffix=$f
		mkfifo fifo$((++n))"${suffix-}"
		of "$command" fifo$n"${suffix-}" x$n
		"${cmd[@]}" >$n.out 2>$n.err </dev/null 3>&- &
		waits[n]=$!
		pids="$pids $!"
		suffix=''
	done <<<"$1"
}

@test "a tool that reads from a pipe says that it waits until a writer opens it" {
	all_wait "$reads"
	n=0
	while IFS='|' read -r good command; do
		begun $((++n))
		cat "$good" >fifo$n
		ends $n
		got=$rc
		go "$command" "$good"
		[ $got -eq $rc ] || { echo "$command: $got, not $rc"; cat $n.err; return 1; }
	done <<<"$reads"
}

# Print the commands that write to a file, except for servers with --save: these
# do not replace a pipe while they serve.
piped() { grep -v ' --save @$' <<<"$writes" && grep '^|innet-agent.*--save' <<<"$writes"; }

@test "a tool that writes to a pipe says that it waits until a reader opens it" {
	all_wait "$(piped)"
	n=0
	while IFS='|' read -r suffix command; do
		begun $((++n))
		timeout 20 cat fifo$n"$suffix" >got
		ends $n
		[ -s got ]
		[ -p fifo$n"$suffix" ]
		[ $rc -eq 0 ] || [ $rc -eq 3 ] || { cat $n.err; return 1; }
	done < <(piped)
}

@test "SIGTERM ends the wait for the other end of a pipe, also in a server" {
	all_wait "$(piped)"
	n=0
	while IFS='|' read -r suffix command; do
		begun $((++n))
		kill -TERM "${waits[n]}"
		ends $n
		[ $rc -eq 1 ] || [ $rc -eq 143 ]
	done < <(piped)
}

@test "a switch continues to serve if no process reads the pipe of its report" {
	mkfifo report.fifo
	serve olaf innet-switch -q --upstream 127.0.0.1:9 --report report.fifo
	kill -HUP $olaf_pid
	within 20 grep -qx 'innet-switch: report.fifo: No such device or address' olaf.err
	innet-ctl "$olaf" stats --json >/dev/null
	cat report.fifo >got &
	finish olaf
	jq -e .totals got
}

@test "a server refuses to keep its state in a pipe" {
	mkfifo pipe
	for tool in innet-memory innet-ps; do
		go "$tool -q --listen 127.0.0.1:0 --duration 10ms --save @" pipe
		[ "$(<err)" = "$tool: pipe: not a regular file" ]
		[ $rc -eq 1 ]
	done
}

@test "writing to a symbolic link keeps the link and writes its target" {
	while IFS='|' read -r suffix command; do
		rm -f plain*
		go "$command" plain"$suffix"
		want=$rc
		for there in no yes; do
			f=at$suffix
			ln -sf to $f
			go "$command" $f
			[ $rc -eq $want ] && [ -L $f ] && [ -s to ] || { echo "${cmd[*]}: $rc"; ls -l $f to; cat err; return 1; }
		done
		rm to $f
	done <<<"$writes"
}

@test "a tool reports a file that it cannot write in one line" {
	[ -w /dev/full ] || skip "no /dev/full"
	for s in '' .svg .html; do
		mkdir folder$s
		ln -s no/where dangling$s
		ln -s round$s round$s
		ln -s /dev/full full$s
	done
	while IFS='|' read -r suffix command; do
		for f in folder dangling round full; do
			go "$command" $f"$suffix"
			wrong $f"$suffix"
		done
	done <<<"$writes"
}

@test "a tool without enough file descriptors prints one line and leaves no file behind" {
	[[ $COMPILE != *-fsanitize* ]] || skip "a sanitizer needs descriptors of its own"
	while IFS='|' read -r good command; do
		for n in 4 5 6 7 8 9; do
			[[ $good == .* || -z $good ]] && f=fresh$good || f=$good
			of "$command" "$f"
			rc=0
			rm -f fresh*
			(exec >/dev/null 2>said 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- </dev/null
				ulimit -n $n; exec timeout -k 1 30 "${cmd[@]}") || rc=$?
			grep -vE '^listening on |: --max-clients is lowered ' said >err || true
			[ $rc -le 1 ] || [ $rc -eq 3 ] || { echo "$n ${cmd[*]}: $rc"; return 1; }
			[ $rc -ne 1 ] || [ "$(wc -l <err)" -eq 1 ] || { echo "$n ${cmd[*]}"; cat err; return 1; }
			left=$(find . -name 'fresh*.*.*' -o -name 'fresh.??????' -o -name 'fresh*.tmp')
			[ -z "$left" ] || { echo "$n ${cmd[*]}: $left"; return 1; }
		done
	done <<<"$reads
$writes"
}

@test "a wrong folder or socket is reported in one line" {
	echo data >plain
	mkfifo pipe
	ln -s nowhere dangling
	for f in plain pipe dangling; do
		go "innet-memory -q --listen 127.0.0.1:0 --duration 10ms --unix @" $f
		wrong $f
		[ -e plain ]
		[ -p pipe ]
		[ -L dangling ]
		go "innet-sim -q -w @ scenario" $f
		wrong $f/.*
		go "innet-sim -q --runs 2 --shard 1/2 --parts @ scenario" $f
		wrong "$f[^:]*"
		go "innet-sim -q --join @" $f
		wrong "$f[^:]*"
	done
	ln -s . here
	go "innet-sim -q -w @ scenario" here
	[ $rc -eq 0 ]
}

@test "errors show the control characters of names and arguments visibly" {
	local odd=$'\e[2J\nx\x9b'
	for c in "innet-aom -q -r" "innet-gen -q -c 1 --schedule" "innet-gen -q -c" \
		"innet-switch -q --key" "innet-worker -q --switch" innet-sim \
		innet-plot "innet-ctl --key" "innet-agent --env"; do
		rc=0
		$c "$odd" >out 2>said </dev/null || rc=$?
		[ $rc -ne 0 ]
		! LC_ALL=C grep -q $'[^ -~]' said || { echo "$c"; cat -v said; return 1; }
		grep -qF '\x1b[2J\nx\x9b' said || { echo "$c"; cat said; return 1; }
	done
}

@test "a file that reaches the size limit of the process is an error" {
	for c in "innet-gen -q -c 5000 -w x" "innet-agent -q --alone --steps 20000 --log x" \
		"innet-gen -q -c 5000" "innet-switch -q --rate 1G -r big -w x"; do
		[ -e big ] || innet-gen -q -c 5000 -w big
		run -1 --separate-stderr bash -c "ulimit -f 1; exec $c >out"
		[[ $stderr == ${c%% *}*': File too large' ]] || { echo "$c: $stderr"; return 1; }
	done
}
