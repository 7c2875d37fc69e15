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

@test "a rate limit answers with the reason and the counts, at its bounds and one beyond them" {
	per limits
}

@test "clients that wait at a limit are answered when another client lifts it, under load" {
	per freed
}

@test "for each sample, one actor that waits at a limit is answered" {
	per inserts
}

@test "actors that wait at a limit are answered in order of arrival" {
	per turns
}

@test "a request of more than 131072 experiences is refused" {
	per most
}

@test "PER.UPDATE: duplicates, stale and removed ids, invalid priorities" {
	per updates
}

@test "PER.DUMP by pages while others add: none twice, none left out" {
	per pages
}

@test "random requests agree with a plain model: ids, priorities, counters, draws, weights" {
	per model "${MEMORY_RUNS:-$(few 50)}" "${MEMORY_FIRST:-1}"
}

@test "stratified: a draw of N takes one experience from each of N equal parts" {
	per strata
}

@test "a draw is the same for packed and for text arguments" {
	per binary
}

@test "an experience is removed after its maximum number of draws" {
	per times
}

@test "after a draw removes an experience, probabilities and weights are those of the rest" {
	per worn
}

@test "priorities that are tiny beside the others are still drawn, and an option may occur only once" {
	per extremes
}

@test "the server recomputes a large table's weights in slices, and clients draw from it meanwhile" {
	per rescale
}

@test "tables are keys: commands that list keys include tables, and commands that remove keys remove them" {
	per_keys keys
}

@test "a sample reports the exact sum of the weights that it was drawn from" {
	per sums
}

@test "frames by value and by reference give the same bytes, and invalid frames are refused" {
	per frames
}

@test "a film by reference takes at most a fifth of the memory, and releases it" {
	per shared
}

@test "frames of actors that add in turns are stored once" {
	per_keys streams
}

@test "a table at --memory: -OOM, and its contents remain" {
	per room
}

@test "random words in any order get an answer, and the server continues" {
	per nonsense $((60 * ${MEMORY_RUNS:-$(few 50)})) "${MEMORY_FIRST:-1}"
}

@test "SCAN goes through all keys that stay, while others come and go" {
	per_keys scan
}
