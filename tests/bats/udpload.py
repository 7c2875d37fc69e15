"""udpload - measure the rate of offloaded datagrams of 1,472 bytes

udpload.py recv PORT BYTES	prints a line when ready, then Mbit/s of frames
udpload.py send ADDR PORT BYTES	44 datagrams a call (UDP_SEGMENT)
"""
import socket
import struct
import sys

UDP_SEGMENT, SO_TIMESTAMPNS = 103, 35
DATAGRAM, HEADERS, BATCH = 1472, 42, 44


def recv(port, want):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    s.bind(('', port))
    s.settimeout(5)
    print('ready', flush=True)
    begin, got = None, 0
    while got < want:
        data, control, _, _ = s.recvmsg(65536, 64)
        # when it came, not when we woke up
        at = struct.unpack('qq', control[0][2])
        end = at[0] * 10**9 + at[1]
        got += len(data)
        if begin is None:   # the first datagram starts the clock
            begin, got, want = end, 0, want - got
    bits = got / DATAGRAM * (DATAGRAM + HEADERS) * 8
    print(f'{bits / (end - begin) * 1e3:.2f}')


def send(addr, port, size):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, DATAGRAM)
    s.connect((addr, port))
    while size > 0:
        n = min(size, BATCH * DATAGRAM)
        s.send(bytes(n))
        size -= n


if sys.argv[1] == 'recv':
    recv(int(sys.argv[2]), int(sys.argv[3]))
else:
    send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
