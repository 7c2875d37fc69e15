# Faults of innet-memory: it reports them, loses nothing and continues.
# Each test is a check of memory_faults.py, which starts servers of its own.
load common
load memory

# faults CHECK [RUNS [FIRST]]: run a check of memory_faults.py
faults() {
	python socket
	"$py" -B "$tests/twins/memory_faults.py" "$@"
}

@test "100 slow, stuck and vanishing clients do not stop the others, and nothing of theirs remains" {
	faults clients 100
}

@test "50 unread replies of 100 MB take no extra memory, and arrive completely in the end" {
	faults unread
}

@test "the server frees replies that were read, even if their clients send no further request" {
	faults spent
}

@test "clients that send requests forever and read nothing do not stop others, and memory stays bounded" {
	faults greedy
}

@test "one client that sends requests forever and reads nothing leaves others memory to store values" {
	faults hoarder
}

@test "at --memory: -OOM for values, lists and small keys, and all stored values remain" {
	faults limit
}

@test "at --memory: requests queued in MULTI and half-received arguments count, too" {
	faults queued
}

@test "the server refuses one client more than --max-clients in Redis's words, and the others stay" {
	faults crowd
}

@test "the server disconnects a client that leaves more than --output-limit unread for --stuck-timeout" {
	faults left
}

@test "a client that stops within a request or reads nothing takes no memory from the others" {
	faults halted
}

@test "clients without the password take neither places nor memory from clients that have it" {
	faults strangers
}

@test "a connection has five password guesses, each slower than the previous one, and is then closed" {
	faults guesses
}

@test "KEYS and SCAN match long patterns with long names in bounded time" {
	faults patterns
}

@test "the unread reply to an MGET of 1 TB takes only the memory of its request" {
	faults mget
}

@test "a transaction whose replies need more memory than there is ends only its own client" {
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

@test "kill -9 during load and during PER.SAVE: the file is complete, and what was saved is there" {
	saves kill9 "${MEMORY_KILLS:-20}" "${MEMORY_FIRST:-1}"
}

@test "the saving child of a killed server does not overwrite a later save" {
	saves orphan
}

@test "a second server on the same file is refused until the first server has ended in any way" {
	saves second
}

@test "a file has only one server, under any name, and a save replaces no link" {
	saves links
}

@test "an error names another file in place of FILE.lock or FILE.tmp" {
	saves beside
}

@test "the server refuses a pipe in place of the file, and no client waits for it" {
	saves pipes
}

@test "only the owner can read a new checkpoint" {
	saves private
}

@test "keys also expire at their time after a restart" {
	saves times
}

@test "with few file descriptors the server accepts fewer clients and warns, and none hangs" {
	faults descriptors
}

@test "the server serves other clients between long requests that were sent at once" {
	faults turns
}

@test "the server frees large removed values in slices, or at once if a request needs the memory" {
	faults slices
}

@test "the saving child holds the lock, too, and a new server waits for a lock that is being released" {
	saves heirs
}

@test "after SIGTERM, SIGINT and SHUTDOWN the file has all data" {
	saves ends
}

@test "--save-every saves without a request" {
	saves every
}

@test "on a full disk PER.SAVE fails and the old file remains; with room again it saves" {
	why=$(unshare -m true 2>&1 && unshare -m mount -t tmpfs none "$PWD" 2>&1) || skip "no tmpfs of our own: $why"
	python socket
	unshare -m "$py" -B "$tests/twins/memory_saves.py" disk
}

@test "at the limit of file sizes PER.SAVE fails and the old file remains; the server continues" {
	saves quota
}

@test "damaged files are refused with a reason, and never crash the server" {
	saves damaged
}

@test "PER.LOAD restores what was saved, and nothing of a damaged file" {
	saves loads
}

@test "many clients request PER.SAVE at once: each is answered, and the file is complete" {
	saves at_once
}
