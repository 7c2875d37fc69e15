# Tests of the notation of mkiswitch and dumpiswitch.
load common

@test "every kind of line becomes a packet, and the packet becomes the same line" {
	cat >lines <<-E
		1000 10.0.1.1:5000 10.255.255.1:46638 seg 1 1 0 1 2.5 -0 0.100000001 inf nan
		1001 10.0.1.1:5000 10.255.255.1:46638 join 1 7 type=switch mode=async cluster=1 worker=3 elements=10 floats=366 next=1 crc=99
		1002 10.0.1.1:5000 10.255.255.1:46638 leave 1 4294967295
		1003 10.0.1.1:5000 10.255.255.1:46638 set-h 1 8 h=4
		1004 10.0.1.1:5000 10.255.255.1:46638 help 1 8 seg=16777215.65535.16777215
		1005 10.0.1.1:5000 10.255.255.1:46638 members 1 8 page=1
		1006 10.255.255.1:46638 10.0.1.1:5000 ack 1 7 join done member=1 h=2 members=2 next=4 floats=366 elements=10 timeout=10
		1007 10.255.255.1:46638 10.0.1.1:5000 ack 1 7 help gone seg=1.0.2
		1008 10.255.255.1:46638 10.0.1.1:5000 ack 1 7 help done
		1009 10.255.255.1:46638 10.0.1.1:5000 ack 1 7 members done page=0 pages=1 text=[{"id": 1}]
		1010 10.255.255.1:46638 10.0.1.1:5000 ack 1 7 fbcast done contributions=3 tos=13
		1011 10.255.255.1:46638 10.0.1.1:5000 halt 1 7 pass=000102030405060708090a0b0c0d0e0f1011121314151617 seal=202122232425262728292a2b2c2d2e2f3031323334353637
		1012 [fd00::1]:1 [fd00::2]:46638 udp 00ff
		1013 10.255.255.1:46638 10.0.1.1:5000 join 1 9 body=0102
	E
	mkiswitch <lines >c.pcap
	dumpiswitch c.pcap | diff lines -
}

@test "tshark finds correct checksums in the packets of mkiswitch" {
	command -v tshark >/dev/null || skip "no tshark"
	{ echo "1 10.0.1.1:1 10.255.255.1 seg 1 1 0 1*366"; echo "2 [fd00::1]:1 [fd00::2] reset 1 1"; } |
		mkiswitch >c.pcap
	[ "$(tshark -r c.pcap -o udp.check_checksum:TRUE -T fields -e udp.checksum.status |
		sort -u)" = 1 ]
}
