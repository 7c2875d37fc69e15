# The data plane, whatever the program: what is written once is so for all.
load iswitch

@test "a switch of updates with an address sends them on from it, in a trace as well" {
	at 1 1 0 1 dport=9 | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --listen 10.255.255.254:9 --upstream 10.8.8.8 --report r.json
	[ "$(tcpdump -nr out.pcap 2>/dev/null | cut -d' ' -f3,5)" = "10.255.255.254.9 10.8.8.8.46638:" ]
	[ "$(count r.json delivered)" -eq 1 ]
}
