# Functions that send datagrams as a stranger, from this machine or from a
# network of its own.
# shellcheck disable=SC2154

# stranger [--from ADDR] HOST:PORT ACTION...: send as a stranger on this machine
stranger() { python3 -B "$BATS_TEST_DIRNAME/stranger.py" "$@"; }

# Start a switch at 10.98.0.1 in a network namespace, and run a bash script
# there with the switch's address in $to.
beside() {
	unshare -rn true 2>/dev/null || skip "no network namespaces here"
	{
		echo 'ip link set lo up; ip addr add 10.98.0.0/15 dev lo'
		echo 'innet-switch -q --insecure --port-file port --listen 10.98.0.1:0 --report r.json '"$1 & pid=\$!"
		echo 'until [ -s port ]; do sleep 0.02; done; to=10.98.0.1:$(cat port)'
		echo "stranger() { python3 -B '$BATS_TEST_DIRNAME/stranger.py' \"\$@\"; }"
		cat
		echo 'kill $pid; wait $pid'
	} >beside.sh
	unshare -rn bash -e beside.sh
}
