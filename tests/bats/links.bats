# Tests of links and pipes in place of files: the tool works, or prints one line
# and exits with status 1.
load common

# writes COMMAND...: run the command, in which "@" stands for a symbolic link,
# and check that the link remains
writes() {
	mkdir -p d
	rm -f d/to at
	ln -s d/to at
	"${@//@/at}" >/dev/null
	[ -L at ]
	[ -s d/to ]
	[ "$(find d . -maxdepth 1 -name 'to.*' -o -maxdepth 1 -name 'at.*' | wc -l)" -eq 0 ]
	rm d/to			# and again after the target of the link exists
	echo before >d/to
	"${@//@/at}" >/dev/null
	[ -L at ]
	[ "$(head -c 6 d/to)" != before ]
}

@test "writing to a symbolic link keeps the link and writes its target" {
	innet-gen -q -c 20 -w g.pcap
	writes innet-gen -q -c 5 -w @
	writes innet-switch -q -r g.pcap -w o.pcap --report @
	writes innet-switch -q -r g.pcap -w @
	writes innet-replay -q -r g.pcap -w @
	writes innet-ps -q --listen 127.0.0.1:0 --duration 50ms --report @
	writes innet-ps -q --listen 127.0.0.1:0 --duration 50ms --port-file @
	writes innet-agent -q --env cartpole --steps 10 --save @
}

@test "a circular symbolic link is reported in one line" {
	ln -s round round
	innet-gen -q -c 20 -w g.pcap
	run -1 timeout 20 innet-switch -q -r g.pcap -w o.pcap --report round
	[[ $output == "innet-switch: round: "* ]]
	[ "${#lines[@]}" -eq 1 ]
	[ -L round ]
}

@test "tools read and write pipes like files" {
	mkfifo key in out report
	(umask 077; head -c 32 /dev/urandom >k)
	innet-gen -q -c 20 -w g.pcap
	innet-switch -q --key k -r g.pcap -w want.pcap
	cat k >key & cat g.pcap >in & cat out >o.pcap & cat report >r.json &
	timeout 20 innet-switch -q --key key -r in -w out --report report
	wait
	cmp want.pcap o.pcap
	jq -e .totals.arrived.packets r.json
	[ -p report ]
}

@test "a tool without enough file descriptors prints one line" {
	[[ $COMPILE != *-fsanitize* ]] || skip "a sanitizer needs descriptors of its own"
	innet-gen -q -c 20 -w g.pcap
	(umask 077; head -c 32 /dev/urandom >key)
	for n in 4 5 6 7 8; do
		for tool in "innet-gen -q -c 5 -w o.pcap" "innet-aom -q -r g.pcap" \
			"innet-switch -q -r g.pcap -w o.pcap --report r.json" \
			"innet-switch -q --listen 127.0.0.1:0 --upstream 127.0.0.1:9 --duration 10ms --key key -w o.pcap --report r.json" \
			"innet-ps -q --listen 127.0.0.1:0 --duration 10ms --save s" "innet-replay -q -r g.pcap -w o.pcap" \
			"innet-ctl --give-up 10ms 127.0.0.1:9 stats" "innet-agent -q --env cartpole --steps 10 --save s2"; do
			rc=0
			# shellcheck disable=SC2086
			(exec >/dev/null 2>err 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n $n; exec timeout 20 $tool) || rc=$?
			[ $rc -le 1 ] || { echo "$n $tool: $rc"; return 1; }
			[ $rc -eq 0 ] || [ "$(grep -vc '^listening' err)" -eq 1 ] || { cat err; return 1; }
		done
	done
}
