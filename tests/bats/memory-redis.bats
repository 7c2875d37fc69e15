# Compare innet-memory with redis-server: the same requests must get the same
# replies, also with third-party clients. MEMORY_RUNS=1000 sends more random
# requests, and MEMORY_FIRST=N begins at seed N.
load common
load memory

setup_file() {
	export MEMORY_RUNS="${MEMORY_RUNS:-$(few 100)}" MEMORY_FIRST="${MEMORY_FIRST:-1}"
}

# Start both servers, and find a Python that can query them.
both() {
	python redis
	redis redis "$@"
	memory
}

@test "the comparison finds no difference between two redis-servers" {
	once
	python redis
	redis one
	redis other
	for check in $(twin list); do
		[ "$check" = password ] || twin "$check" "$one" "$other" 20
	done
}

@test "the comparison detects a redis-server with two databases, and names the request" {
	python redis
	redis one
	redis other --databases 2
	run -1 twin talks "$one" "$other"
	[[ $output == *'connection: b'*'$6\r\nselect\r\n$1\r\n1\r\n'*'-ERR DB index is out of range'*'+OK'* ]]
	run -1 twin chance "$one" "$other"
	[[ $output == *': seed '* ]]
}

@test "chosen commands get Redis's replies: connection, strings, lists, MULTI, wrong types, wrong counts" {
	both
	twin talks "$redis" "$memory"
	twin hello "$redis" "$memory"
}

@test "every pair of list indices gets Redis's reply: within, negative and out of range" {
	both
	twin ranges "$redis" "$memory"
}

@test "protocol errors are Redis's, word for word, and close the connection" {
	both
	twin bad "$redis" "$memory"
}

@test "inline requests get Redis's replies, with and without quotes" {
	both
	twin inline "$redis" "$memory"
}

@test "values of 0 to 16 MB are stored and returned unchanged" {
	both
	twin bulks "$redis" "$memory"
}

@test "10,000 requests at once, and 100,000 arguments in one request, get Redis's replies" {
	both
	twin pipelined "$redis" "$memory"
}

@test "requests get the same replies byte by byte, and cut in two at every place" {
	both
	twin bytewise "$redis" "$memory"
}

@test "random requests get Redis's replies if sent whole" {
	both
	twin chance "$redis" "$memory" "$MEMORY_RUNS" "$MEMORY_FIRST"
}

@test "random requests get Redis's replies if sent in pieces of random length" {
	both
	twin chopped "$redis" "$memory" "$MEMORY_RUNS" "$MEMORY_FIRST"
}

@test "random damaged requests get Redis's replies" {
	both
	twin damaged "$redis" "$memory" $((10 * MEMORY_RUNS)) "$MEMORY_FIRST"
}

@test "a password: NOAUTH, WRONGPASS and the commands allowed without one, as in Redis" {
	python redis
	redis redis --requirepass secret
	echo secret >password
	chmod 600 password
	memory --password-file password
	twin password "$redis" "$memory"
}

@test "python3-redis works: values, lists, pipelines, transactions, errors, INFO" {
	both
	twin library "$redis" "$memory"
}

@test "Ape-X works with plain lists: RPUSH, LRANGE and LTRIM in MULTI, SET and GET" {
	both
	twin apex "$redis" "$memory"
}

@test "a Unix socket gives the same replies as a port" {
	python redis
	redis redis
	memory --unix memory.sock
	for check in talks bad pipelined apex; do
		twin $check "$redis" "$PWD/memory.sock"
	done
}

@test "redis-cli works: replies as text and raw, a file of requests, --pipe" {
	both
	cat >requests <<-'E'
		ping
		set k "a b\n\x41"
		get k
		rpush l 1 2 3
		lrange l 0 -1
		lrange none 0 -1
		get none
		get l
		multi
		get k
		exec
		nonsense x
		llen
		dbsize
	E
	for raw in --raw --no-raw --csv; do
		redis-cli -s "$redis" $raw <requests >expected
		cli $raw <requests >got
		diff expected got
		cli flushall
		redis-cli -s "$redis" flushall
	done
	seq 20000 | sed 's/.*/*3\r\n$5\r\nrpush\r\n$1\r\np\r\n$1\r\nx\r/' | cli --pipe >pipe
	grep -q 'errors: 0, replies: 20000' pipe
	[ "$(cli llen p)" -eq 20000 ]
}

@test "redis-benchmark runs ping, set, get, rpush and lrange without an error" {
	both
	for pipe in 1 16; do
		redis-benchmark -h 127.0.0.1 -p "${memory##*:}" -t ping,set,get,rpush,lrange \
			-n 2000 -c 50 -P $pipe --csv >out 2>err
		[ "$(grep -c '^"' out)" -eq 11 ]
		[[ "$(cat out err)" != *[Ee]rror* && "$(cat err)" != *WARN* ]]
		[ "$(cli get key:__rand_int__)" = VXK ]
		[ "$(cli llen mylist)" -ge 2000 ]
		cli flushall
	done
}

@test "SHUTDOWN ends the server with status 0, and redis-cli reports no error" {
	both
	run -0 cli shutdown nosave
	[ -z "$output" ]
	wait "$memory_pid"
}
