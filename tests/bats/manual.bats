# Run the examples of the manual as a reader would. On a page rendered at 80
# columns, the text after "$ " and the lines below it that are indented further
# are commands. All commands of a page are one script, which runs in an empty
# directory; each command must succeed.
load common

# rendered PAGE: print the text of the page
rendered() {
	command -v mandoc >/dev/null || skip 'no mandoc'
	mandoc -T ascii -O width=80 "$srcdir/man/$1" | sed 's/.\x08//g'
}

# Print the commands of a page; a line that is indented further continues its
# command.
lines_of() {
	awk '{ indent = match($0, /[^ ]/) }
	    /^ +\$ / { at = indent; print substr($0, at + 2); next }
	    !indent || indent <= at { at = 0 }
	    at { print substr($0, at + 2) }'
}

# Print the commands that the script at $1 calls and that are not installed.
missing_for() {
	local word
	for word in $(grep -oE '(^|[ |;&(])innet-[a-z]+' "$1" | tr -d ' |;&(' |
	    sort -u) bash gnuplot ip iperf3 mpirun od python3 redis-benchmark redis-cli \
	    tcpdump tshark; do
		case $word in
		gnuplot) grep -qw innet-plot "$1" || continue ;;
		*) grep -qw -e "$word" "$1" || continue ;;
		esac
		command -v "$word" >/dev/null || printf ' %s' "$word"
	done
}

# Run the script at $1; background processes that it leaves are ended.
run_script() {
	local missing
	missing=$(missing_for "$1")
	[ -z "$missing" ] || skip "not here:$missing"
	{
		echo "trap 'echo \"failed: \$BASH_COMMAND\"' ERR"
		echo "trap 'kill \$(jobs -p) 2>/dev/null || :' EXIT"
		cat "$1"
	} >"$1.run"
	timeout -k 5 300 bash -eE -o pipefail "$1.run" </dev/null 3>&-
}

page() {
	once
	rendered "$1" >text
	lines_of <text >script
	[ -s script ]
	run ! grep -E '^.{81}' text
	run_script script
}

@test "innet-agent(1): the examples run" { page innet-agent.1; }
@test "innet-aom(1): the examples run" { page innet-aom.1; }
@test "innet-ctl(1): the examples run" { page innet-ctl.1; }
@test "innet-gen(1): the examples run" { page innet-gen.1; }
@test "innet-memory(1): the examples run" { page innet-memory.1; }
@test "innet-mpi(1): the examples run" {
	export ASAN_OPTIONS=detect_leaks=0	# the leaks of the library
	page innet-mpi.1
}
@test "innet-plot(1): the examples run" { page innet-plot.1; }
@test "innet-ps(1): the examples run" { page innet-ps.1; }
@test "innet-replay(1): the examples run" { page innet-replay.1; }
@test "innet-sim(1): the examples run" { page innet-sim.1; }
@test "innet-switch(1): the examples run" { page innet-switch.1; }
@test "innet-verify(1): the examples run" { page innet-verify.1; }
@test "innet-worker(1): the examples run" { page innet-worker.1; }
@test "innet-format(5): the examples run" { page innet-format.5; }
@test "innet-report(5): the examples run" { page innet-report.5; }
@test "innet-scenario(5): the examples run" {
	awk '/^\.Ed/ { on = 0 } /^{ "duration/ { on = 1; text = "" }
	    on { text = text $0 "\n" } /^\.Pa .*\.json/ { print text >$2 }' \
	    "$srcdir/man/innet-scenario.5"
	page innet-scenario.5
}
@test "innet-stream(5): the examples run" { page innet-stream.5; }
@test "innet-wire(5): the examples run" { page innet-wire.5; }
@test "innet-testbed(7): the examples run" {
	privileged
	PATH=$testbed:$PATH
	page innet-testbed.7
}
@test "innet-bridge(7): the examples run" {
	privileged
	PATH=$testbed:$PATH
	unshare -n sh -c 'ip link add br0 type bridge &&
		innet-switch -q --bridge br0 --listen 127.0.0.1:0 --duration 1ms' 2>why ||
		skip "no frames can be taken here: $(tail -n 1 why)"
	page innet-bridge.7
}
@test "innet-service(7): the examples run" { page innet-service.7; }
@test "innet-security(7): the examples run" { page innet-security.7; }
@test "innet(7): the examples run" { page innet.7; }
@test "innet-dlp(7): the examples run" { page innet-dlp.7; }
@test "innet-iswitch(7): the examples run" { page innet-iswitch.7; }
@test "innet-learning(7): the examples run" { page innet-learning.7; }
@test "innet-olaf(7): the examples run" { page innet-olaf.7; }

@test "innet-per-module(7): the examples run" {
	[ -e "$per_module" ] || skip "innet_per.so was not built"
	command -v redis-server >/dev/null || skip "no redis-server"
	mkdir man
	sed "s|so=/usr/local/lib/innet/|so=${per_module%/*}/|" \
		"$srcdir/man/innet-per-module.7" >man/innet-per-module.7
	srcdir=.
	page innet-per-module.7
}
@test "innet_stream(3): the examples run" {
	python numpy
	mkdir bin && ln -s "$(command -v "$py")" bin/python3
	sed -n '/^import innet/,/^\.Ed/{/^\.Ed/!p}' \
	    "$srcdir/man/innet_stream.3" >child.py
	export PYTHONPATH=$share/python PATH=$PWD/bin:$PATH
	page innet_stream.3
}

@test "innet_worker(3): the examples run" {
	[ -e "$library/libinnet.so" ] || skip "libinnet.so was not built"
	[[ $COMPILE != *-fsanitize* ]] || skip "a sanitizer is to be loaded first"
	mkdir bin man
	sed "s|^\\(\$ examples\\)=.*|\\1=$share/examples|" \
		"$srcdir/man/innet_worker.3" >man/innet_worker.3
	# the build folder has no folder of headers, and the program needs the same flags
	printf '#!/bin/sh\nexec %s "$@"\n' "$COMPILE -I$srcdir/cmd/innet-worker/library" >bin/cc
	printf '#!/bin/sh\necho -L%s -linnet\n' "$library" >bin/pkg-config
	chmod +x bin/cc bin/pkg-config
	srcdir=.
	export PATH=$PWD/bin:$PATH LD_LIBRARY_PATH=$library
	page innet_worker.3 | tee out
	[ "$(grep -c 'the sum is 1$' out)" -eq 2 ]
}

@test "innet_torch(3): the examples run" {
	python torch
	mkdir bin man && ln -s "$(command -v "$py")" bin/python3
	sed "s/=29500$/=$(free_port)/" "$srcdir/man/innet_torch.3" >man/innet_torch.3
	srcdir=.
	sed -n '/^import innet_torch$/,/^\.Ed/{/^\.Ed/!p}' man/innet_torch.3 | tail -n +3 >train.py
	export PYTHONPATH=$share/python PATH=$PWD/bin:$PATH
	page innet_torch.3
}

@test "innet_replay(3): the examples run" {
	command -v redis-cli >/dev/null || skip "no redis-cli"
	python numpy
	mkdir bin && ln -s "$(command -v "$py")" bin/python3
	export PYTHONPATH=$share/python PATH=$PWD/bin:$PATH
	page innet_replay.3
}

@test "every page has a test in this file" {
	for m in "$srcdir"/man/*.[1-9]; do
		grep -qE "^(.*\{|	) ?page ${m##*/}(; \}| \| tee out|)$" "$BATS_TEST_FILENAME"
	done
}

@test "innet-stream(5): the child in Python trains through a worker" {
	sed -n '/^import json/,/^\.Ed/{/^\.Ed/!p}' \
	    "$srcdir/man/innet-stream.5" >child.py
	cat >script <<-'END'
	innet-ps -q --listen :0 --port-file port &
	until [ -s port ]; do sleep 0.05; done
	innet-worker --switch :$(cat port) --json -- python3 child.py >summary
	grep -q '"generated":50,' summary
	END
	run_script script
}

@test "innet-wire(5): a switch answers the Probe with the STATE, byte for byte" {
	python
	sed -n '/^06 00 0001/,/^\.Ed/{/^\.Ed/!p}' "$srcdir/man/innet-wire.5" >bytes
	cat >client.py <<-'END'
	import socket, struct, sys
	def send(s, tos, data, action):
	    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
	    s.send(data)
	    while action and (data := s.recv(2000))[0] != action:
	        pass
	    return data
	probe, state = map(bytes.fromhex, open('bytes').read().split('\n\n'))
	workers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in '12']
	for w, s in enumerate(workers):
	    s.settimeout(10)
	    s.connect(('127.0.0.1', int(sys.argv[1])))
	    send(s, 0x0c, struct.pack('>BBHIBBHIIHIIB', 1, 0, 1, 1, 1, 0, 0, w, 4, 1, 5, 0, 2), 8)
	for i in range(7):
	    send(workers[i // 4], 0x1c, struct.pack('>Qf', 5 << 40 | 1 << 24 | i % 4, 1), 0)
	while workers[1].recv(2000)[7] != 2:
	    pass
	print(send(workers[1], 0x0c, probe, 8) == state)
	END
	cat >script <<-'END'
	innet-switch -q -p iswitch -H 2 --listen :0 --port-file port &
	until [ -s port ]; do sleep 0.05; done
	"$py" client.py $(cat port) | grep -x True
	END
	export py
	run_script script
}

@test "innet-wire(5): the client in Python gets its sum, alone and with another client" {
	sed -n '/^import socket, struct/,/^\.Ed/{/^\.Ed/!p}' "$srcdir/man/innet-wire.5" |
		sed 's/\\e/\\/g' >client.py
	cat >script <<-'END'
	innet-switch -q -p iswitch -H 2 --listen :0 --port-file port &
	until [ -s port ]; do sleep 0.05; done
	sed 's/ 1, 0, 0, 0, 3,/ 1, 0, 0, 1, 3,/' client.py >other.py
	python3 other.py $(cat port) >other.out &
	python3 client.py $(cat port) >client.out
	wait %2
	grep -x 'sum of 2: 2.0 4.0 6.0' client.out other.out
	innet-ctl :$(cat port) reset --all
	innet-ctl :$(cat port) set-h 1
	python3 client.py $(cat port) | grep -x 'sum of 1: 1.0 2.0 3.0'
	END
	run_script script
}

@test "every page renders without words that .Fl made options, loose quotes and unknown options" {
	command -v mandoc >/dev/null || skip 'no mandoc'
	for tool in $TOOLS; do "$tool" --help; done 2>/dev/null |
		grep -oE -- '--[a-z][a-z0-9-]*' >options
	# options of the testbed, configure and redis-server; --OPTION stands
	# for any option
	grep -ohE -- '--[a-z][a-z0-9-]*' "$srcdir"/share/testbed/* >>options
	printf '%s\n' --with-box2d --loadmodule --option >>options
	sort -u -o options options
	for f in "$srcdir"/man/*.[1-9]; do
		name=${f##*/}
		mandoc -T utf8 -O width=80 "$f" | sed 's/.\x08//g' >text
		# .Fl puts a dash before each of its arguments; -eq is an
		# operator of sh
		grep -vE '^ *\$ | -eq |innet-[a-z]+ -' text |
			grep -E '(^|[ (])-[a-z0-9][a-z]+|""' | sed "s/^/$name: /"
		[ "$(grep -o '[“‘]' text | wc -l)" -eq "$(grep -o '[”’]' text | wc -l)" ] ||
			echo "$name: quotes are not balanced"
		grep -vE '^ *\$ |^\.(Dl|Li|D1)' "$f" | grep -oE 'Fl -[a-z][a-z0-9-]*' |
			sed 's/^Fl /-/' | sort -u | comm -23 - options | sed "s/^/$name: /"
	done >wrong
	cat wrong
	[ ! -s wrong ]
}

@test "the README's example prints the output that README shows" {
	sed -n '/^```console/,/^```$/{/^```/!p}' "$srcdir/README.md" >shown
	grep -q '^\$ ' shown
	while IFS= read -r line; do
		echo "$line"
		bash -eo pipefail -c "${line#\$ }" </dev/null 2>&1 3>&-
	done < <(grep '^\$ ' shown) >printed
	diff shown printed
}

@test "the README's Ape-X solves CartPole" {
	once
	sed -n 's/^    \(innet-.*memory .*\)$/\1/p' "$srcdir/README.md" >script
	[ "$(wc -l <script)" -eq 3 ]
	sed -i '1s/$/\nuntil [ -S memory ]; do sleep 0.1; done/' script
	run_script script
}

@test "the README's synchronous agents end with the reward that README shows" {
	once
	sed -n 's/^    \(innet-.*:4000.*\)$/\1/p' "$srcdir/README.md" >shown
	[ "$(wc -l <shown)" -eq 3 ]
	sed -e 's/--listen :4000/--listen :0 --port-file at/' \
	    -e 's/:4000/:$(cat at)/' \
	    -e '1s/$/\nuntil [ -s at ]; do sleep 0.05; done/' shown >script
	run_script script 2>printed
	reward=$(grep -o 'mean reward of [0-9.]*[0-9]' "$srcdir/README.md")
	grep -F "mean reward ${reward##* }" printed
}
