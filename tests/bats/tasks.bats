# Tests of tasks that users have. Each is a script in tests/tasks/ that uses
# only options that README and the manual describe.
load common

# task NAME: run a script of tests/tasks/
task() {
	command -v jq >/dev/null || skip "no jq"
	command -v gnuplot >/dev/null || skip "no gnuplot"
	once
	python
	EXAMPLES=$share/examples PYTHON=$py \
		timeout -k 5 300 bash -eE -o pipefail "$BATS_TEST_DIRNAME/../tasks/$1.sh" 3>&-
}

@test "20 clusters at three rates under both queues, to one plot" { task two-queues; }
@test "a live capture replayed at double speed, with true ages" { task twice-as-fast; }
@test "two racks and a core swept, with confidence bands" { task two-racks; }
@test "innet-verify refutes an objective, and the other tools run its schedule" {
	command -v innet-verify >/dev/null || skip "no innet-verify"
	task refuted
}
@test "three workers train synchronously, asynchronously, with a PyTorch script and with Ape-X" { task four-ways; }
@test "a worker is killed, and innet-ctl explains the stall" { task stalled; }
@test "a service watched, rotated, restricted" { task watched; }
