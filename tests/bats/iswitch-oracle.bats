# Compare the aggregation switch with a second program, which was written only
# from the text of the design. ORACLE_RUNS=1000 runs more scenarios, and
# ORACLE_FIRST=N begins at seed N.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	runs=${ORACLE_RUNS:-$(few 200)}
	command -v python3 >/dev/null || skip "no python3"
}

scenarios() {
	python3 -B "$tests/twins/iswitch_runs.py" "$1" "$runs" "${ORACLE_FIRST:-1}"
}

@test "random scenarios move every counter" {
	scenarios self
}

@test "the synchronous switch sends the same as the oracle, bit for bit" {
	scenarios sync
}

@test "the asynchronous switch sends the same as the oracle, bit for bit" {
	scenarios async
}

@test "a switch with a parent sends the same as the oracle, up and down" {
	scenarios child
}
