# What strangers may try that is in no other file: loops, and ids that run out.
load common
load stranger

poll=0a02$(printf '00%.0s' {1..28})

@test "one forged poll starts nothing between an aggregator and a server of DLP" {
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)' 2>/dev/null ||
		skip "no raw sockets"
	serve sw innet-switch -q -p dlp --report sw.json
	serve ps innet-ps -q -p dlp --report ps.json
	stranger --from "$ps" "$sw" forge-seg 0 "$poll"
	stranger --from "$sw" "$ps" forge-seg 0 "$poll"
	for _ in 1 2 3; do stranger "$sw" dlp 10 >/dev/null; done	# each waits for answers
	finish sw
	finish ps
	[ "$(jq -s 'map(.packets) | add' sw.json ps.json)" -lt 40 ]
}

@test "an aggregator of DLP does not answer answers, nor a SETUP with parameters" {
	serve sw innet-switch -q -p dlp
	for state in 0 3 4 8 9; do
		[ "$(stranger "$sw" dlp $state)" = "0 0" ]
	done
	[ "$(stranger "$sw" dlp 1 1 2 3 4 5 6)" = "0 0" ]
}

@test "more Joins and Leaves than there are ids, and still there is room" {
	serve sw innet-switch -q -p iswitch -H 2
	[ "$(stranger "$sw" join 1 4300 10 leave)" = "4300 " ]
	innet-ctl "$sw" join --vector 10 --worker 9999
}
