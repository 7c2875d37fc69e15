# Somebody who can send a datagram, here and in a network of its own.
# shellcheck disable=SC2154

# A stranger of this machine: [--from ADDR] HOST:PORT ACTION...
stranger() { python3 -B "$BATS_TEST_DIRNAME/stranger.py" "$@"; }

# Start a switch at 10.98.0.1 in a network of its own and run bash there with $to
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
