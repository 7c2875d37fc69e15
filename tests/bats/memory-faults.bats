# Faults of innet-memory: it reports them, loses nothing and continues.
# Each test is a check of memory_faults.py, which starts servers of its own.
load common
load memory

# faults CHECK [RUNS [FIRST]]: run a check of memory_faults.py
faults() {
	python socket
	"$py" -B "$tests/twins/memory_faults.py" "$@"
}

@test "100 slow, stuck and vanishing clients do not stop the others, and leave nothing behind" {
	faults clients 100
}

@test "50 unread replies of 100 MB take no memory, and arrive whole in the end" {
	faults unread
}

@test "the server frees replies that were read, even if their clients send no further request" {
	faults spent
}

@test "clients that ask without end and read nothing: others are served, memory is bound" {
	faults greedy
}

@test "one client that asks without end and reads nothing leaves room to store" {
	faults hoarder
}

@test "at --memory: -OOM for values, lists and small keys, and all that was stored is there" {
	faults limit
}

@test "at --memory: what waits in MULTI and half bulks count, too" {
	faults queued
}

@test "one client more than --max-clients hears Redis's words, and the others stay" {
	faults crowd
}

@test "the server disconnects a client that leaves more than --output-limit unread for --stuck-timeout" {
	faults left
}

@test "a client that stops within a request or reads nothing takes no memory from the others" {
	faults halted
}

@test "clients without the password take no places and no memory from those with it" {
	faults strangers
}

@test "a connection can guess five passwords, each more slowly, and is ended" {
	faults guesses
}

@test "KEYS and SCAN match long patterns with long names in bounded time" {
	faults patterns
}

@test "a client that does not read the reply to an MGET of 1 TB costs as much as its request" {
	faults mget
}

@test "a transaction whose replies need more memory than there is ends its client alone" {
	faults replies
}

@test "SET and GET with a version: the old value or the new, never half of each" {
	faults halves
}

# saves CHECK [RUNS [FIRST]]: run a check of memory_saves.py
saves() {
	python socket
	"$py" -B "$tests/twins/memory_saves.py" "$@"
}

@test "kill -9 during load and during PER.SAVE: the file is whole, and what was saved is there" {
	saves kill9 "${MEMORY_KILLS:-20}" "${MEMORY_FIRST:-1}"
}

@test "a save whose server was killed does not write over a later one" {
	saves orphan
}

@test "a second server on the same file is refused, until the first is gone, however" {
	saves second
}

@test "a file has one server by whatever name, and a save replaces no link" {
	saves links
}

@test "an error names another file in place of FILE.lock or FILE.tmp" {
	saves beside
}

@test "the server refuses a pipe in place of the file, and no client waits for it" {
	saves pipes
}

@test "a new checkpoint is for its owner alone" {
	saves private
}

@test "keys expire at their time after a restart, too" {
	saves times
}

@test "with few file descriptors the server accepts fewer clients and warns, and none hangs" {
	faults descriptors
}

@test "requests that take long, sent at once: others are served between them" {
	faults turns
}

@test "the server frees large removed values in slices, or at once if a request needs the memory" {
	faults slices
}

@test "the child that saves has the lock, too, and a lock about to be given back is waited for" {
	saves heirs
}

@test "SIGTERM, SIGINT and SHUTDOWN leave all there was in the file" {
	saves ends
}

@test "--save-every saves by itself" {
	saves every
}

@test "a full disk: PER.SAVE says so, the old file stays, and it saves when there is room" {
	why=$(unshare -m true 2>&1 && unshare -m mount -t tmpfs none "$PWD" 2>&1) || skip "no tmpfs of our own: $why"
	python socket
	unshare -m "$py" -B "$tests/twins/memory_saves.py" disk
}

@test "files may not grow: the same, and the server outlives it" {
	saves quota
}

@test "damaged files are refused with a reason, and never a crash" {
	saves damaged
}

@test "PER.LOAD brings back what was saved, and of a damaged file nothing" {
	saves loads
}

@test "PER.SAVE of many at once: each is answered, the file is whole, the rest goes on" {
	saves at_once
}
