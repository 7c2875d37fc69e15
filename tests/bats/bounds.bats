# Tests that limit the cost of a stranger: repeated updates, forged routes,
# truncated packets and Joins.
load common
load stranger

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids='' tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	command -v python3 >/dev/null || skip "no python3"
}

finish() {
	local pid=${1}_pid
	kill -TERM "${!pid}"
	wait "${!pid}"
}

@test "the server applies an update once if it arrives 100 times" {
	serve ps innet-ps --json --learning-rate 1 --average none --reply worker
	stranger "$ps" olaf 3 1 7 0 0 0 >/dev/null
	[ "$(stranger "$ps" olaf 1 1 7 5 1 1 times=100)" = "1 48" ]
	stranger "$ps" olaf 1 1 7 4 1 1 >/dev/null
	stranger "$ps" olaf 1 1 7 6 1 1 >/dev/null
	finish ps
	jq -e '.applied == 2 and .updates_repeated == 100' ps.out
}

@test "the server accepts updates of a restarted worker, which numbers them from 1 again" {
	serve ps innet-ps --json
	for start in 1000 2000; do	# the weights of the first worker do not count again
		stranger "$ps" olaf 3 1 7 0 0 0 stamp=$start >/dev/null
		for sequence in 1 2 3; do
			stranger "$ps" olaf 1 1 7 $sequence 1 1 >/dev/null
		done
	done
	stranger "$ps" olaf 3 1 7 0 0 0 stamp=1000 >/dev/null
	stranger "$ps" olaf 1 1 7 2 1 1 >/dev/null
	finish ps
	jq -e '.applied == 6 and .updates_repeated == 1' ps.out
}

@test "an update of 40 bytes to an idle cluster does not cause a mismatch of genuine updates" {
	serve ps innet-ps -q
	serve switch innet-switch -q --upstream "$ps" --report r.json
	stranger "$switch" olaf 1 1 9 1 1 1 >/dev/null
	stranger "$switch" olaf 3 1 3 0 0 0 0 >/dev/null
	for sequence in $(seq 10); do
		stranger "$switch" olaf 1 1 3 "$sequence" 1 1 1 >/dev/null
	done
	stranger "$switch" olaf 1 1 9 2 1 1 >/dev/null
	finish switch
	jq -e '.ignored.mismatched == 1 and .totals.arrived.packets == 11' r.json
}

@test "with --elements, the server and the switch ignore vectors of another length" {
	serve ps innet-ps --json --elements 3
	serve switch innet-switch -q --upstream "$ps" --elements 3 --report r.json
	[ "$(stranger "$ps" olaf 3 1 9 0 1)" = "0 0" ]
	stranger "$switch" olaf 1 1 9 1 1 1 >/dev/null
	[ "$(stranger "$switch" olaf 3 1 3 0 0 0 0)" = "1 52" ]
	[ "$(stranger "$switch" olaf 1 1 3 1 1 1 1)" = "1 52" ]
	finish switch
	finish ps
	jq -e '.ignored.mismatched == 1' r.json
	jq -e '.applied == 1 and .weights == 1' ps.out
}

@test "on a full disk the tools print a warning, stop capturing and continue to serve" {
	[ -w /dev/full ] || skip "no /dev/full"
	serve ps innet-ps --json -w /dev/full
	serve switch innet-switch -q --upstream "$ps" --write-in /dev/full
	# more than a buffer was written, and a second has passed, so the switch
	# has noticed
	run -1 --separate-stderr innet-worker --json --switch "$switch" --synthetic 4kB \
		--interval 10ms --duration 4s -w /dev/full
	jq -e '.models > 0' <<<"$output"
	[ "$(grep -c '^innet-worker: /dev/full: the capture ends here: No space left on device$' <<<"$stderr")" -eq 1 ]
	for tool in switch ps; do
		code=0
		finish $tool || code=$?
		[ $code -eq 1 ]
		[ "$(grep -c "^innet-$tool: /dev/full: the capture ends here: No space left on device$" $tool.err)" -eq 1 ]
		grep -q "^innet-$tool: /dev/full: the output is incomplete: No space left on device$" $tool.err
	done
	jq -e '.weights > 0' ps.out
}

@test "a switch or server that listens beyond loopback needs a key or --insecure" {
	(umask 077; echo 'sixteen bytes or more' >key)
	for tool in "innet-switch -p iswitch" "innet-switch --upstream 192.0.2.9" innet-ps; do
		for at in 192.0.2.1 '[2001:db8::1]' 0.0.0.0; do
			[[ $tool != *192* || $at != *:* ]] || continue
			run -1 --separate-stderr $tool --listen "$at"
			[ "$stderr" = "${tool%% *}: --listen $at:46638: every host that can reach this address could take part; give --key FILE or --insecure, or listen on 127.0.0.1" ]
		done
	done
	for more in '' '--key key'; do
		run -1 --separate-stderr innet-switch -p dlp --listen 192.0.2.1 $more
		[[ $stderr == *"packets of program dlp have no authentication tags; give --insecure (with or without --key), or listen on 127.0.0.1" ]]
	done
	# no interface has this address, so the error shows that the switch tried to bind it
	run -1 --separate-stderr innet-switch -p iswitch --listen 192.0.2.1 --key key
	[[ $stderr == *"192.0.2.1:46638: Cannot assign requested address" ]]
	run -2 --separate-stderr innet-switch --insecure -r in.pcap
	[ "${stderr_lines[0]}" = "innet-switch: --insecure needs a live switch (--listen)" ]
}

@test "a live tool cannot open more files or start programs, and runs as --user" {
	serve switch innet-switch -q -p iswitch --report r.json
	grep -qx $'NoNewPrivs:\t1' /proc/$switch_pid/status
	finish switch
	[ -s r.json ]
	run -1 --separate-stderr innet-switch -p iswitch --listen :0 --user nobody-of-that-name
	[[ $stderr == *"innet-switch: --user: unknown user 'nobody-of-that-name'" ]]
	[ "$(id -u)" -eq 0 ] || skip "only root can be another"
	chmod 777 .
	for tool in "innet-switch -q -p iswitch" "innet-ps -q" "innet-memory -q --touch 1MB"; do
		serve it $tool --user nobody
		[ "$(awk '/^(Uid|Gid):/ { print $2, $3, $4, $5 }' /proc/$it_pid/status | sort -u | wc -l)" -le 2 ]
		[ "$(stat -c %U /proc/$it_pid)" = nobody ]
		finish it
	done
}

@test "systemd-analyze security rates each unit at most 1.5, and the unit in the path 2.6" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	for unit in "$share"/systemd/*.service; do
		most=1.5
		[ "${unit##*/}" != innet-bridge.service ] || most=2.6
		systemd-analyze security --offline=true --no-pager "$unit" >rated 2>&1 ||
			skip "$(tail -n 1 rated)"
		sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p' rated |
			awk -v most=$most '{ n = 1; if ($1 > most) exit 1 } END { exit !n }'
	done
}

# calls GROUP...: print the names of the system calls in these groups; groups
# may contain groups
calls() {
	local word
	for word; do
		case $word in
		@*) calls $(systemd-analyze syscall-filter "$word" | sed '1d; s/#.*//') ;;
		*) echo "$word" ;;
		esac
	done
}

# words UNIT KEY: print the values that the unit has for KEY
words() { sed -n "s/^$2=//p" "$tests/../share/systemd/innet-$1.service"; }

# start UNIT: run the command line of the unit, with other folders, as a user
# without privileges. UNIT.calls gets its system calls, and $unit_pid its
# process id.
start() {
	local name=$1 line
	line=$(words "$1" ExecStart | sed "s,/usr/bin/,,; s,%d,$PWD/given,; s,%S,$PWD,; s,\${LISTEN},127.0.0.1:0,")
	strace -f -o "$name.calls" setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs \
		--inh-caps=-all --bounding-set=-all $line --port-file "$PWD/innet-$name/port" >/dev/null 2>$name.err 3>&- &
	strace_pid=$!
	await "innet-$name/port" || cat $name.err
	unit_pid=$(pgrep -P $strace_pid)
	pids="$pids $unit_pid"		# strace ends when the unit ends
	at=127.0.0.1:$(<"innet-$name/port")
}

@test "the command of each unit runs without privileges, and makes no system call that its filter forbids" {
	for c in systemd-analyze strace setpriv; do command -v $c >/dev/null || skip "no $c"; done
	[[ $COMPILE != *-fsanitize* ]] || skip "a sanitizer calls more"
	[ "$(id -u)" -eq 0 ] || skip "only root can be another"
	setpriv --bounding-set=-all strace -o /dev/null true 2>/dev/null || skip "strace may not trace"
	for f in "$PWD" "$PWD/.." "$PWD/../.."; do chmod a+x "$f"; done
	mkdir given innet-switch innet-ps innet-memory
	(umask 077; head -c 32 /dev/urandom >given/key)
	echo secret >given/password
	chown -R nobody given innet-switch innet-ps innet-memory
	for name in switch ps memory; do
		start $name
		case $name in
		switch) innet-worker -q -p iswitch --switch "$at" --key given/key --worker 0 --synthetic 4kB --interval 1ms -c 3 &
			innet-worker -q -p iswitch --switch "$at" --key given/key --worker 1 --synthetic 4kB --interval 1ms -c 3
			wait $! ;;
		ps) innet-worker -q --switch "$at" --key given/key --synthetic 4kB --interval 10ms -c 3 ;;
		memory) exec 4<>"/dev/tcp/${at/:/\/}"
			printf 'AUTH secret\r\nSET a b\r\nPER.SAVE\r\n' >&4
			for _ in 1 2 3; do read -r -t 20 said <&4; done
			[[ $said == +OK* ]]
			exec 4>&- ;;
		esac
		kill -TERM "$unit_pid"
		wait $strace_pid
		sed -i '1,/ execve("[^"]*innet-/d' $name.calls		# set by setpriv
		sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' $name.calls | sort -u >called
		[ "$(wc -l <called)" -gt 20 ]
		words $name SystemCallFilter >filter
		calls $(grep -v '^~' filter) | sort -u >may
		calls $(sed -n 's/^~//p' filter) | sort -u >may_not
		[ -z "$(comm -23 called <(comm -23 may may_not))" ] || { comm -23 called <(comm -23 may may_not); return 1; }
		run ! grep -E 'PROT_WRITE\|PROT_EXEC|mprotect\(.*PROT_EXEC' $name.calls
		for family in $(sed -n 's/.* socket(\(AF_[A-Z0-9]*\).*/\1/p' $name.calls | sort -u); do
			[[ " $(words $name RestrictAddressFamilies) " == *" $family "* ]]
		done
	done
}

@test "when a disk fills up, all tools print a warning, stop capturing and continue to serve" {
	unshare -rm true 2>/dev/null || skip "no namespaces with mounts"
	cat >inside <<-'E'
		bats_require_minimum_version() { :; }
		. "$BATS_TEST_DIRNAME/common.bash"
		pids=''
		mkdir full
		mount -t tmpfs -o size=64k none full
		# filled NAME FILE: check that tool NAME warned that it stopped
		# capturing to FILE, and that its status is 1
		filled() {
			code=0
			[ $1 = worker ] && code=$rc || finish $1 || code=$?
			[ $code -eq 1 ]
			[ "$(grep -c "^innet-[a-z]*: full/$2: the capture ends here: No space left on device$" $1.err)" -eq 1 ]
			grep -q "^innet-[a-z]*: full/$2: the output is incomplete: No space left on device$" $1.err
			[ "$(stat -c %s full/$2)" -gt 0 ]
			rm full/$2
		}
		enough='--synthetic 40kB -c 150'
		# work PROGRAM [OPTION...]: run one worker for long enough to
		# reach the limit
		work() {
			rc=0
			innet-worker --json -p "$@" --switch "$switch" --interval 20ms >worker.out 2>worker.err || rc=$?
		}
		while IFS='|' read -r tool options program; do
			serve switch $tool $options full/served
			work $program
			jq -e '(.iterations // .results // .models // .rounds) >= 100' worker.out
			[ $rc -eq 0 ]
			filled switch served
			serve switch $tool
			work $program -w full/sent
			jq -e '(.iterations // .results // .models // .rounds) >= 100' worker.out
			filled worker sent
			finish switch
		done <<-T
		innet-switch -q -p iswitch -H 1|-w|iswitch --worker 0 $enough
		innet-switch -q -p iswitch -H 1|--write-in|iswitch --worker 0 $enough
		innet-switch -q -p iswitch -H 1 --async|-w|iswitch --async --worker 0 $enough
		innet-ps -q|-w|olaf $enough
		innet-ps -q|--write-in|olaf $enough
		innet-switch -q -p dlp|-w|dlp --session nodes=1,iterations=150 --synthetic 1464B
		T
	E
	export BATS_TEST_DIRNAME
	unshare -rm bash -eux inside >out 2>&1 || { tail -n 30 out; return 1; }
}

@test "one address gets at most 64 members, 4 jobs and a quarter of the memory; others still find room" {
	beside "-p iswitch -H 4096 --memory 1GB" >out <<-'E'
		stranger --from 10.98.7.1 $to join 1 65 100
		stranger --from 10.98.7.2 $to join 1 1 100
		stranger --from 10.98.8.1 $to join 100 5 100 jobs
		stranger --from 10.98.8.2 $to join 200 1 100
		stranger --from 10.98.9.1 $to join 300 4 10000000 jobs
		stranger --from 10.98.10.1 $to join 310 1 10000000
	E
	cat out
	[ "$(head -n 4 out)" = $'64 2:1\n1 \n4 2:1\n1 ' ]
	[[ $(tail -n 2 out) =~ ^[12]\ 2:[23]$'\n'1\ $ ]]
}

@test "with a key, a job gets at most a quarter of the memory, or --job-memory" {
	(umask 077; printf 'sixteen bytes and more' >key)
	joins() { innet-worker -q -p iswitch --key key --switch "$sw" --worker 0 --job "$1" --synthetic "$2" -c 3; }
	serve sw innet-switch -q -p iswitch -H 1 --key key --memory 40MB
	run ! --separate-stderr joins 1 8MB
	[[ $stderr == *"MB more than the 10.0 MB that a job may take; raise its --job-memory" ]]
	joins 2 1MB
	finish sw
	for more in '--key key --job-memory 39MB' '--job-memory 2MB'; do
		# shellcheck disable=SC2086
		serve sw innet-switch -q -p iswitch -H 1 --memory 40MB $more
		case $more in
		--key*) joins 1 8MB ;;
		*) run ! --separate-stderr innet-worker -q -p iswitch --switch "$sw" --worker 0 --synthetic 2MB -c 3
			[[ $stderr == *" the 2.0 MB that a job may take; "* ]] ;;
		esac
		finish sw
	done
}
