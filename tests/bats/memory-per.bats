# Tests of the tables of innet-memory as a client sees them. Each test is a
# check of memory_per.py. MEMORY_RUNS=1000 runs more random ones, and
# MEMORY_FIRST=N begins at seed N.
load common
load memory

# per CHECK [RUNS [FIRST]]: run a check of memory_per.py
per() {
	python socket
	"$py" -B "$tests/twins/memory_per.py" "$@"
}

# per_keys CHECK: run a check of memory_keys.py
per_keys() {
	python socket
	"$py" -B "$tests/twins/memory_keys.py" "$@"
}

@test "a rate limit answers with the reason and the counts, at its bounds and one past" {
	per limits
}

@test "clients parked at a limit are answered when another lifts it, under load" {
	per freed
}

@test "actors parked at a limit are let go, one for each sample" {
	per inserts
}

@test "actors parked at a limit are let go in the order in which they came" {
	per turns
}

@test "a request of more than 131072 experiences is refused" {
	per most
}

@test "PER.UPDATE: the last of duplicates, stale and removed ids, priorities that are none" {
	per updates
}

@test "PER.DUMP by pages while others add: none twice, none left out" {
	per pages
}

@test "random requests against a plain model: ids, priorities, counters, draws, weights" {
	per model "${MEMORY_RUNS:-$(few 50)}" "${MEMORY_FIRST:-1}"
}

@test "stratified: a draw of N takes one experience from each of N equal parts" {
	per strata
}

@test "packed and as text, the same draw" {
	per binary
}

@test "an experience is drawn as often as it may be, and then it is gone" {
	per times
}

@test "behind an item that wears out chances and weights are of what is left" {
	per worn
}

@test "what is too small beside the rest is drawn and counted, and an option comes once" {
	per extremes
}

@test "the server recomputes a large table's weights in slices, and clients draw from it meanwhile" {
	per rescale
}

@test "tables are keys: all that asks for keys sees them, and what removes keys removes them" {
	per_keys keys
}

@test "a sample reports the exact sum of the weights that it was drawn from" {
	per sums
}

@test "frames by value and by reference are the same bytes, and what is no frame is refused" {
	per frames
}

@test "a film by reference takes a fifth of the memory at most, and gives it back" {
	per shared
}

@test "frames of actors that add by turns are stored once" {
	per_keys streams
}

@test "a table at --memory: -OOM, and what was in it is there" {
	per room
}

@test "any words in any order: an answer, and it lives" {
	per nonsense $((60 * ${MEMORY_RUNS:-$(few 50)})) "${MEMORY_FIRST:-1}"
}

@test "SCAN goes through all keys that stay, while others come and go" {
	per_keys scan
}
