# Tests of the replay memory's server with third-party clients and raw requests.
load common

# start [OPTION...]: start a server at 127.0.0.1:$port, with its standard error
# in m.err; stop_it ends it
start() {
	serve m innet-memory --touch 1MB "$@"
	port=$(cat m.port)
}

stop_it() {
	kill "${1:--TERM}" "$m_pid"
	wait "$m_pid"
}

# Skip without redis-cli. cli() itself cannot skip, because it is called in
# $(...).
need_cli() { command -v redis-cli >/dev/null || skip "no redis-cli"; }

cli() { redis-cli -p "$port" "$@"; }

# ask REQUEST: send an inline request with bash alone, and print the first line
# of the reply
ask() {
	exec 9<>"/dev/tcp/127.0.0.1/$port"
	printf '%s\r\n' "$1" >&9
	IFS= read -r -t 10 -u 9 line
	exec 9>&-
	echo "${line%$'\r'}"
}

# info NAME: print a number of INFO
info() { cli info everything | tr -d '\r' | sed -n "s/^$1://p"; }

# script: run a Python program from standard input, which has
#	req(WORD...)	the bytes of a request
#	connect()	a connection to the server
#	asker()		a file with the replies of a connection, and a function that
#			sends a request and returns the first line of the reply
script() {
	command -v python3 >/dev/null || skip "no python3"
	cat >script.py <<-END
	import time
	from resp_twin import *
	def connect():
	    return socket.create_connection(("127.0.0.1", $port), timeout=20)
	def asker():
	    s = connect()
	    f = s.makefile("rb")
	    def ask_for(*words):
	        s.sendall(req(*words))
	        return f.readline()
	    return f, ask_for
	END
	cat >>script.py
	PYTHONPATH=$BATS_TEST_DIRNAME/../twins timeout 60 python3 script.py
}

@test "the first line is the address; SIGTERM ends the server with a summary and status 0" {
	start
	[ "$(ask PING)" = +PONG ]
	[ "$(head -n 1 m.err)" = "listening on 127.0.0.1:$port" ]
	stop_it
	[[ $(tail -n 1 m.err) == "innet-memory: 1 client, 1 command, 6 bytes in, 7 bytes out"* ]]
}

@test "--json prints the summary as an object, also with -q and after SIGINT" {
	start -q --json
	[ "$(ask 'SET a b')" = +OK ]
	stop_it -INT
	[ "$(jq -r '"\(.commands) \(.keys) \(.left.gone)"' m.out)" = "1 1 1" ]
	[ "$(wc -l <m.err)" -eq 1 ]
	start -q
	stop_it
	[ "$(wc -l <m.err)" -eq 1 ]
	[ ! -s m.out ]
}

@test "SIGUSR1 prints the counters, and --duration ends the server" {
	serve m innet-memory --touch 1MB --duration 60s
	kill -USR1 "$m_pid"
	for _ in $(seq 500); do
		[ "$(wc -l <m.err)" -lt 2 ] || break
		sleep 0.02
	done
	[[ $(sed -n 2p m.err) == "innet-memory: 0 clients, 0 commands"* ]]
	serve j innet-memory --touch 1MB --duration 60s --json
	kill -USR1 "$j_pid"
	await j.out
	jq -e '.clients == 0 and .commands == 0' j.out
	run -0 timeout 30 innet-memory -q --touch 1MB --listen :0 --duration 10ms
}

@test "innet-memory answers the same requests as redis-server does, word for word" {
	need_cli
	command -v redis-server >/dev/null || skip "no redis-server"
	start
	# redis-server cannot choose a free port, so use one that the kernel has
	# just assigned
	other=$(python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	redis-server --port "$other" --bind 127.0.0.1 --save '' >redis.out 3>&- &
	pids="$pids $!"
	for _ in $(seq 500); do
		[ "$(redis-cli -p "$other" ping 2>/dev/null)" != PONG ] || break
		sleep 0.02
	done
	run -0 timeout 120 python3 "$BATS_TEST_DIRNAME/../twins/resp_twin.py" "$other" "$port"
}

@test "redis-cli works with strings, lists, a transaction, INFO and help" {
	need_cli
	start
	[ "$(cli set a 1)" = OK ]
	[ "$(cli rpush l 1 2 3)" = 3 ]
	printf 'MULTI\nGET a\nLTRIM l 1 -1\nEXEC\nLRANGE l 0 -1\n' | cli >out
	[ "$(tr '\n' ' ' <out)" = 'OK QUEUED QUEUED 1 OK 2 3 ' ]
	[ "$(info connected_clients)" = 1 ]
	[ "$(info db0)" = keys=2,expires=0,avg_ttl=0 ]
	[[ $(info cmdstat_rpush) == calls=1,usec=*,usec_per_call=*,rejected_calls=0,failed_calls=0 ]]
	[[ $(info latency_percentiles_usec_get) == p50=*,p99=*,p99.9=* ]]
	[ "$(cli command count)" = "$(cli command list | wc -l)" ]
	[[ $(cli command docs getv) == *"if newer"* ]]
}

@test "COMMAND DOCS lists the arguments, and errors about their number give the usage" {
	need_cli
	start
	[ "$(cli command docs lrange | sed '1,/^arguments$/d' | tr '\n' ' ')" = \
	    'name key type key name start type integer name stop type integer ' ]
	[ "$(cli command docs set | sed '1,/^value$/d' | tr '\n' ' ')" = \
	    'type string name choice type oneof flags optional arguments name nx type pure-token token NX name xx type pure-token token XX name get type pure-token token GET flags optional name choice type oneof flags optional arguments name seconds type string token EX name milliseconds type string token PX name seconds type string token EXAT name milliseconds type string token PXAT name keepttl type pure-token token KEEPTTL ' ]
	[ "$(cli command docs per.add | sed '1,/^frames$/d' | tr '\n' ' ')" = \
	    'type block token FRAMES flags optional arguments name n type integer name frame type string flags multiple name priority type block flags multiple arguments name priority type string name blob type string ' ]
	for name in $(cli command list); do
		cli command docs "$name" | grep -x arguments
	done
	[[ $(cli command docs config) == *"config|set"*parameter* ]]
	[[ $(cli per.sample replay) == *"number of arguments for 'per.sample' command; usage: PER.SAMPLE table batch [BETA b]"* ]]
	[[ $(cli getv a) == *"usage: GETV key since"* ]]
	[[ $(cli get) == "ERR wrong number of arguments for 'get' command" ]]
}

@test "redis-benchmark works with ping, set, get, rpush and lrange, also pipelined" {
	command -v redis-benchmark >/dev/null || skip "no redis-benchmark"
	start
	timeout 60 redis-benchmark -p "$port" -t ping,set,get,rpush,lrange -n 1000 -q >out 2>err
	[ "$(tr '\r' '\n' <out | grep -c 'requests per second')" -eq 10 ]
	[ ! -s err ]
	timeout 60 redis-benchmark -p "$port" -t ping,set,get,rpush -n 10000 -q -P 16 -c 50 --csv >out
	[ "$(grep -c '^"' out)" -eq 6 ]
}

@test "python3-redis exchanges experiences and parameters as in Ape-X" {
	need_cli
	python redis
	start
	"$py" - "$port" <<-'END'
	import os, sys, redis
	actor = redis.Redis(port=int(sys.argv[1]), client_name="actor")
	learner = redis.Redis(port=int(sys.argv[1]))
	sent = [os.urandom(n) for n in (1, 4095, 4096, 4097, 213504, 0, 70000)]
	assert actor.rpush("experience", *sent) == len(sent)
	pipe = learner.pipeline()
	pipe.lrange("experience", 0, -1)
	pipe.ltrim("experience", len(sent), -1)
	got, done = pipe.execute()
	assert got == sent and done and learner.llen("experience") == 0
	weights = os.urandom(13000000)
	assert learner.set("params", weights) and actor.get("params") == weights
	version, same = actor.execute_command("GETV", "params", 0)
	assert same == weights
	assert actor.execute_command("GETV", "params", version) is None
	learner.set("params", b"new")
	assert actor.execute_command("GETV", "params", version)[1] == b"new"
	assert actor.client_getname() == "actor" and len(actor.client_list()) == 2
	assert actor.info("commandstats")["cmdstat_getv"]["calls"] == 3
	try:
	    actor.lpush("params", 1)
	    raise SystemExit("no WRONGTYPE")
	except redis.ResponseError as e:
	    assert str(e).startswith("WRONGTYPE")
	actor.delete("params")
	assert actor.info("memory")["used_memory"] < 100000
	END
}

@test "versions grow, also for a deleted key and across a restart" {
	need_cli
	start
	cli set a 1
	v=$(cli getv a 0 | head -n 1)
	cli del a
	cli set a 1
	[ "$(cli getv a "$v" | tail -n 1)" = 1 ]
	v=$(cli getv a 0 | head -n 1)
	stop_it
	start
	cli set a 2
	[ "$(cli getv a "$v" | tail -n 1)" = 2 ]
	[[ $(cli getv a x) == "ERR value is not an integer"* ]]
}

@test "RESP3: redis-cli -3, redis-py and node connect with their defaults" {
	need_cli
	start
	[ "$(cli -3 ping)" = PONG ]
	cli -3 hello 3 | grep -x 'proto 3'
	cli per.create t capacity 4
	[ "$(cli -3 --json per.info t | jq -c '[.selector, .alpha, .capacity]')" = '["per",0.6,4]' ]
	script <<-'END'
	first = {
	    "node-redis 6": [("HELLO", 3), ("CLIENT", "SETINFO", "LIB-VER", "6.3.1"),
	        ("CLIENT", "SETINFO", "LIB-NAME", "node-redis"),
	        ("CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "external-ip")],
	    "redis-py 8": [("HELLO", 3), ("CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "none"),
	        ("CLIENT", "SETINFO", "LIB-NAME", "redis-py"), ("CLIENT", "SETINFO", "LIB-VER", "8.0.0")],
	}
	for name, words in first.items():
	    s = connect()
	    s.sendall(b"".join(req(*w) for w in words) + req("GET", "none") + req("PING"))
	    f, got = s.makefile("rb"), []
	    while not got or got[-1] != b"+PONG\r\n":
	        got.append(f.readline())
	        assert got[-1], (name, got)
	    assert got[0] == b"%7\r\n", (name, got)
	    assert got.count(b"+OK\r\n") == 2, (name, got)
	    assert sum(g.startswith(b"-ERR unknown subcommand 'MAINT_NOTIFICATIONS'") for g in got) == 1
	    assert got[-2] == b"_\r\n", (name, got)
	    s.sendall(req("PER.SAMPLE", "t", 1) + req("PER.DUMP", "t"))
	    assert f.readline().startswith(b"-LIMIT ")
	    assert [f.readline() for _ in range(3)] == [b"*2\r\n", b"_\r\n", b"*0\r\n"]
	    s.sendall(req("CLIENT", "INFO"))
	    assert f.readline().startswith(b"=") and f.readline().startswith(b"txt:id=")
	END
}

@test "clients that wait for an element are served in turn, and every form of CLIENT KILL ends one" {
	start
	script <<-'END'
	s = [connect() for _ in range(4)]
	_, ask_for = asker()
	def blocked(n):
	    end = time.monotonic() + 20
	    while ask_for("PING") and b"blocked_clients:%d\r\n" % n not in whole("INFO", "clients"):
	        assert time.monotonic() < end
	def whole(*words):
	    c = connect()
	    c.sendall(req(*words) + req("QUIT"))
	    return b"".join(iter(lambda: c.recv(65536), b""))
	for i, one in enumerate(s):
	    one.sendall(req("BLPOP", "other", "l", 0) + req("ECHO", i))
	    blocked(i + 1)
	s[3].close()
	blocked(3)
	assert ask_for("RPUSH", "l", "a", "b") == b":2\r\n"
	for i, what in enumerate((b"a", b"b")):
	    want = b"*2\r\n$1\r\nl\r\n$1\r\n" + what + b"\r\n$1\r\n%d\r\n" % i
	    got = b""
	    while len(got) < len(want):
	        got += s[i].recv(100)
	    assert got == want, got
	addr = b"%s:%d" % (s[2].getsockname()[0].encode(), s[2].getsockname()[1])
	assert ask_for("CLIENT", "KILL", "ADDR", addr, "TYPE", "normal", "USER", "default") == b":1\r\n"
	assert s[2].recv(1) == b""
	laddr = b"127.0.0.1:%d" % s[0].getpeername()[1]
	assert b"laddr=" + laddr in whole("CLIENT", "LIST")
	n = ask_for("CLIENT", "KILL", "LADDR", laddr)
	assert n[:1] == b":" and int(n[1:]) >= 2, n
	assert s[0].recv(1) == b"" and s[1].recv(1) == b""
	assert ask_for("PING") == b"+PONG\r\n", "it has killed itself"
	END
}

@test "--password-file: the server executes no request before AUTH" {
	need_cli
	echo secret >password
	start --password-file password
	[[ $(ask 'GET a') == "-NOAUTH Authentication required." ]]
	[[ $(ask 'AUTH wrong') == "-WRONGPASS "* ]]
	[[ $(ask '*11') == "-ERR Protocol error: unauthenticated multibulk length" ]]
	[[ $(ask 'HELLO 2') == "-NOAUTH HELLO must be called"* ]]
	[ "$(cli --no-auth-warning -a secret set a 1)" = OK ]
	[ "$(cli --no-auth-warning --user default -a secret get a)" = 1 ]
	: >empty
	run -1 innet-memory --listen :0 --password-file empty
	[ "$output" = "innet-memory: empty: the first line, which is the password, is empty" ]
}

@test "--memory: a request beyond it gets -OOM at once, and no stored value is lost" {
	need_cli
	start --memory 4MB
	script <<-'END'
	f, ask_for = asker()
	n = 0
	while ask_for("RPUSH", "l", bytes([n]) * 100000)[:1] == b":":
	    n += 1
	assert 30 <= n <= 39, n
	assert ask_for("SET", "k", b"x" * 50000000).startswith(b"-OOM command not "
	    b"allowed when used memory > 'maxmemory'."), "a long one is refused"
	assert ask_for("RPUSH", "l", *[b"x" * 4000] * 2000).startswith(b"-OOM"), "in all"
	assert ask_for("RPUSH", "l", *["x"] * 200000).startswith(b"-OOM"), "many small"
	for long in ["SET", "k", b"x" * 5000000], ["RPUSH", "l"] + ["x"] * 200000:
	    assert ask_for("MULTI") == b"+OK\r\n"
	    assert ask_for(*long).startswith(b"-OOM"), "in MULTI"
	    assert ask_for("LTRIM", "l", 1, 0) == b"+QUEUED\r\n"
	    assert ask_for("EXEC").startswith(b"-EXECABORT "), "all or nothing"
	assert ask_for("LLEN", "l") == b":%d\r\n" % n
	for i in range(n):
	    assert ask_for("LINDEX", "l", i) == b"$100000\r\n"
	    assert f.read(100002) == bytes([i]) * 100000 + b"\r\n"
	assert ask_for("LTRIM", "l", 1, -1) == b"+OK\r\n"
	assert ask_for("RPUSH", "l", b"x" * 90000) == b":%d\r\n" % n
	ask_for("LTRIM", "l", 5, -1)
	k = 500
	while ask_for("RPUSH", "l", *[b"x" * 100] * k)[:1] == b":":
	    ask_for("LTRIM", "l", 0, n - 6)
	    k += 100
	assert 1000 < k < 4000, k
	assert ask_for("LLEN", "l") == b":%d\r\n" % (n - 5), "all or nothing"
	END
	[ "$(info used_memory)" -lt 4000000 ]
	[ "$(info used_memory_peak)" -lt 4300000 ]
	[ "$(info oom_replies)" = 7 ]
	[ "$(cli flushall)" = OK ]
	[ "$(info used_memory)" -lt 10000 ]
}

@test "--memory: unread replies and unfinished lines of clients stay within it" {
	need_cli
	start --memory 20MB
	script <<-'END'
	f, ask_for = asker()
	for _ in range(10):
	    ask_for("RPUSH", "l", *[b"x" * 100] * 2000)
	bad = []
	for i in range(60):
	    s = connect()
	    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
	    try:
	        s.sendall(req("LRANGE", "l", 0, -1) * 10 if i % 2 else b"x" * 60000)
	    except OSError:
	        pass
	    bad.append(s)
	    ask_for("INFO", "memory")
	    for line in iter(f.readline, b"\r\n"):
	        if line.startswith(b"used_memory_peak:"):
	            peak = int(line.split(b":")[1])
	assert peak < 30000000, peak
	assert ask_for("LLEN", "l") == b":20000\r\n"
	assert ask_for("PING") == b"+PONG\r\n"
	END
	[ "$(info clients_left_memory)" -gt 20 ]
}

@test "CONFIG SET maxmemory takes effect at once" {
	need_cli
	start --memory 4MB
	[ "$(cli config set maxmemory 1mb)" = OK ]
	[ "$(cli config get maxmemory | tail -n 1)" = 1048576 ]
	head -c 2000000 /dev/zero >big
	[[ $(cli -x set a <big) == OOM* ]]
	cli config set maxmemory 10mb
	[ "$(cli -x set a <big)" = OK ]
	cli config set maxmemory 1mb
	[[ $(cli set b 1) == OOM* ]]
	[ "$(cli strlen a)" = 2000000 ]
	[ "$(cli del a)" = 1 ]
	[ "$(cli set b 1)" = OK ]
	[[ $(cli config set port 1) == "ERR CONFIG SET failed"* ]]
}

@test "--max-clients: the server refuses one client more with an error and keeps the others" {
	start --max-clients 2
	script <<-'END'
	two = [connect() for _ in "ab"]
	for s in two:
	    s.sendall(req("PING"))
	    assert s.recv(100) == b"+PONG\r\n"
	s = connect()
	assert s.makefile("rb").read() == b"-ERR max number of clients reached\r\n"
	two[0].sendall(req("INFO", "stats"))
	assert b"\nrejected_connections:1\r\n" in two[0].recv(10000)
	END
}

@test "100 slow, stuck and vanishing clients do not stop the others" {
	start --memory 100MB --output-limit 1MB --stuck-timeout 200ms
	script <<-'END'
	f, ask_for = asker()
	big = b"x" * 500000
	assert ask_for("SET", "big", big) == b"+OK\r\n"
	bad = []
	for i in range(100):
	    s = connect()
	    if i % 4 == 0:	# sends a request and does not read the reply
	        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
	        s.sendall(req("GET", "big") * 40)
	    elif i % 4 == 1:	# sends only a part of a request
	        s.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$300000\r\nxxx")
	    elif i % 4 == 2:	# closes the connection in the middle
	        s.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$300000\r\n" + big[:9999])
	        s.close()
	        continue
	    bad.append(s)		# sends nothing at all
	for i in range(2000):
	    assert ask_for("SET", "k", i) == b"+OK\r\n"
	    assert ask_for("GET", "k") == b"$%d\r\n" % len(str(i))
	    f.readline()
	end = time.time() + 20
	def left(why):
	    ask_for("INFO", "stats")
	    for line in iter(f.readline, b"\r\n"):
	        if line.startswith(b"clients_left_%s:" % why):
	            n = int(line.split(b":")[1])
	    return n
	while (left(b"output"), left(b"stuck"), left(b"gone")) != (25, 25, 25):
	    assert time.time() < end, (left(b"output"), left(b"stuck"), left(b"gone"))
	ask_for("GET", "big")
	assert f.read(500002) == big + b"\r\n"
	END
	[ "$(grep -c 'was disconnected: output' m.err)" -eq 25 ]
	[ "$(grep -c 'was disconnected: stuck' m.err)" -eq 25 ]
}

@test "a client that reads slowly gets all replies, however long that takes" {
	start --output-limit 100kB --stuck-timeout 5s
	script <<-'END'
	import os
	s = connect()
	one = os.urandom(300000)
	s.sendall(req("SET", "a", one) + req("GET", "a") * 100)
	f, want = s.makefile("rb"), b"$300000\r\n" + one + b"\r\n"
	assert f.readline() == b"+OK\r\n"
	other = connect()
	other.sendall(req("CLIENT", "LIST"))
	owed = [int(w[5:]) for w in other.recv(9999).split() if w[:5] == b"omem="]
	assert max(owed) < 100000 + 300020, owed
	for i in range(100):
	    assert f.read(len(want)) == want
	s.sendall(req("GETV", "none", 0) * 100000)	# many small replies add up too
	assert f.read(500000) == b"*-1\r\n" * 100000
	END
}

@test "a client that reads a little at a time does not count as stuck" {
	start --output-limit 100kB --stuck-timeout 1s
	script <<-'END'
	s = connect()
	want = b"+OK\r\n" + (b"$300000\r\n" + b"x" * 300000 + b"\r\n") * 60
	s.sendall(req("SET", "a", b"x" * 300000) + req("GET", "a") * 60)
	got, end = b"", time.time() + 3
	while time.time() < end:	# less than the buffers of the kernel can hold
	    got += s.recv(20000)
	    time.sleep(0.02)
	while len(got) < len(want):
	    got += s.recv(1 << 20)
	assert got == want
	END
}

@test "the server still answers a client that has shut down its sending side" {
	start --output-limit 100kB
	script <<-'END'
	s = connect()
	s.sendall(req("SET", "a", b"x" * 500000) + req("GET", "a") * 20)
	s.shutdown(socket.SHUT_WR)
	assert len(s.makefile("rb").read()) == 5 + 20 * 500011
	END
}

@test "--client-timeout: the server disconnects a silent client, but no client that sends requests" {
	start --client-timeout 100ms
	script <<-'END'
	silent, talks = (connect() for _ in "ab")
	silent.setblocking(False)
	for _ in range(2000):
	    talks.sendall(req("PING"))
	    assert talks.recv(100) == b"+PONG\r\n"
	    try:
	        assert silent.recv(1) == b""
	        break
	    except BlockingIOError:
	        time.sleep(0.01)
	else:
	    raise SystemExit("never")
	talks.sendall(req("INFO", "stats"))
	assert b"clients_left_idle:1\r\n" in talks.recv(10000)
	END
}

@test "the server counts each disconnection under its reason" {
	need_cli
	start
	[ "$(ask '*x')" = "-ERR Protocol error: invalid multibulk length" ]
	[ "$(ask QUIT)" = +OK ]
	[ "$(ask "POST / HTTP/1.1")" = "-DENIED this is not an HTTP server" ]
	cli client kill id "$(cli client id)" || :
	[ "$(info clients_left_protocol) $(info clients_left_quit) $(info clients_left_http)" = "1 1 1" ]
	[ "$(cli client kill addr 1.2.3.4:5)" = 0 ]
}

@test "an HTTP request with any method ends the connection before the server executes its body" {
	start
	script <<-'END'
	f, ask_for = asker()
	methods = "GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE", "PATCH", "CONNECT", "TRACE"
	for method in methods:
	    s = connect()
	    s.sendall(b"%s / HTTP/1.1\r\n\r\nSET stolen 1\r\n" % method.encode())
	    assert s.makefile("rb").read() == b"-DENIED this is not an HTTP server\r\n", method
	s = connect()
	s.sendall(b"anything\r\nHost: here\r\n\r\nSET stolen 1\r\n")
	assert s.makefile("rb").read().endswith(b"\r\n-DENIED this is not an HTTP server\r\n")
	assert ask_for("EXISTS", "stolen") == b":0\r\n"
	assert ask_for("SET", "a", "HTTP/1.1") == b"+OK\r\n", "a value, and no HTTP"
	assert ask_for("GET", "a") == b"$8\r\n" and f.readline() == b"HTTP/1.1\r\n"
	ask_for("INFO", "stats")
	assert b"clients_left_http:%d\r\n" % (len(methods) + 1) in iter(f.readline, b"\r\n")
	END
}

@test "--unix: the server replaces a stale socket, but not one that another server uses" {
	need_cli
	start --unix sock
	[ "$(redis-cli -s sock set a 1)" = OK ]
	[ "$(cli get a)" = 1 ]
	run -1 timeout 10 innet-memory --listen none --unix sock
	[ "$output" = "innet-memory: sock: another program listens on this socket" ]
	kill -KILL "$m_pid"
	wait "$m_pid" || true
	[ -S sock ]
	start --unix sock
	[ "$(redis-cli -s sock ping)" = PONG ]
	stop_it
	[ ! -e sock ]
	echo mine >file
	run -1 timeout 10 innet-memory --listen :0 --unix file
	[ "$output" = "innet-memory: file: a file with this name exists and is not a socket" ]
}

@test "the server warns if other hosts can reach it and there is no password" {
	serve m innet-memory --touch 1MB
	[ "$(wc -l <m.err)" -eq 1 ]
	innet-memory -q --touch 1MB --listen 0.0.0.0:0 --duration 1ms 2>err
	[[ $(cat err) == *"0.0.0.0:"*": clients on other machines are denied; give --password-file, --allow or --insecure to serve them" ]]
	innet-memory -q --touch 1MB --listen 0.0.0.0:0 --duration 1ms --insecure 2>err
	[[ $(cat err) == *"0.0.0.0:"*": every host that can reach this address can read and write the data; give --password-file, or listen on 127.0.0.1" ]]
	echo x >pw
	innet-memory -q --touch 1MB --listen 0.0.0.0:0 --duration 1ms --password-file pw 2>err
	[ "$(wc -l <err)" -eq 1 ]
}

@test "without a password a remote client gets one line of error and is disconnected" {
	local here=10.98.7.6
	unshare -rn true 2>/dev/null || skip "no network namespaces here"
	cat >peer.sh <<-'E'
		ip link set lo up && ip addr add "$1" dev lo && shift
		innet-memory -q --touch 1MB --listen 0.0.0.0:0 --port-file port "$@" 2>err & pid=$!
		until [ -s port ]; do sleep 0.02; done
		for host in 127.0.0.1 10.98.7.6; do
			printf 'PING\r\nQUIT\r\n' | timeout 10 bash -c 'cat >&3; cat <&3' 3<>/dev/tcp/$host/$(cat port)
		done
		kill $pid; wait $pid
	E
	unshare -rn bash peer.sh $here >out
	[[ $(tr -d '\r' <out) == $'+PONG\n+OK\n-DENIED without a password this server accepts only clients on its own machine; '* ]]
	[ "$(wc -l <out)" -eq 3 ]
	for more in --insecure '--allow 10.0.0.0/8,127.0.0.1'; do
		rm port
		unshare -rn bash peer.sh $here $more >out
		[ "$(grep -c PONG out)" -eq 2 ]
	done
}

@test "an error explains a used port or a wrong command line, with its status" {
	start
	run -1 timeout 10 innet-memory --listen "127.0.0.1:$port"
	[ "$output" = "innet-memory: 127.0.0.1:$port: Address already in use" ]
	run -2 innet-memory --memory 1x
	[ "$output" = "innet-memory: invalid memory '1x': unknown unit; use B, kB, MB, GB, TB, KiB, MiB or GiB" ]
	run -2 innet-memory --listen none
	[ "$output" = "innet-memory: --listen none needs --unix" ]
	run -2 innet-memory --save-every 1s
	[ "$output" = "innet-memory: --save-every needs --save" ]
	run -2 innet-memory --alpha 0.6
	[ "$output" = "innet-memory: --alpha needs --capacity" ]
	run -2 innet-memory --touch 2MB --memory 1500000
	[ "$output" = "innet-memory: --touch: 2000000 bytes are more than the 1500000 bytes of --memory" ]
	run -2 innet-memory --save ''
	[ "$output" = "innet-memory: invalid file '': the path is empty" ]
	run -2 innet-memory --alpha 4.1
	run -2 innet-memory --capacity 2147483649
}

@test "--capacity and --alpha create a table at the start" {
	start --capacity 12 --alpha 1
	cli per.info replay >info
	[ "$(sed -n '/^capacity$/{n;p}; /^alpha$/{n;p}; /^slack$/{n;p}' info | sort -n | xargs)" = '1 12 12' ]
	cli per.add replay 1 a 3 b >/dev/null
	[[ $(cli per.sample replay 2 | sed -n 3p) == 0.[27]5 ]]
}

@test "SHUTDOWN ends the server with status 0" {
	start
	run ask "SHUTDOWN NOSAVE"
	wait "$m_pid"
	[[ $(tail -n 1 m.err) == *"left: 1 shutdown" ]]
}
