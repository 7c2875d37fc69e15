# Compare the queue, the link and the age with a second program, which was
# written only from the text of the design. ORACLE_RUNS=1000 runs more
# scenarios, and ORACLE_FIRST=N begins at seed N.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	runs=${ORACLE_RUNS:-$(few 200)}
	command -v python3 >/dev/null || skip "no python3"
}

scenarios() {
	python3 -B "$tests/twins/oracle_runs.py" "$1" "$runs" "${ORACLE_FIRST:-1}"
}

@test "the oracle agrees with the hand-checked vectors, line by line" {
	python3 -B "$tests/twins/oracle_vectors.py" "$tests/data/olaf-vectors.txt"
}

@test "the counters of the oracle are consistent in random scenarios" {
	scenarios self
}

@test "the oracle reads a capture and reports in JSON" {
	python3 -B -c "
import sys; sys.path.insert(0, '$tests/twins')
import oracle_runs as r
r.write_pcap('in.pcap', r.Scenario(7).trace)"
	python3 -B "$tests/twins/oracle.py" in.pcap --slots 2 --rate 1000000 >out.json
	python3 -c "import json; j = json.load(open('out.json'))
assert j['report']['totals']['delivered']['packets'] == len(j['deliveries']) > 0"
}

@test "innet-switch and the oracle have the same departures to a nanosecond and the same counters" {
	command -v innet-switch >/dev/null || skip "innet-switch is not built"
	scenarios switch
}

@test "innet-aom and the oracle find the same ages, losses and fairness" {
	command -v innet-aom >/dev/null || skip "innet-aom is not built"
	scenarios aom
}
