#!/usr/bin/python3
"""delay.py NEAR FAR TIME: forward frames between two interfaces with a delay

A frame that arrives at one interface leaves by the other interface TIME later
(for example 10ms).  Frames of segmentation offload are not split.  testbed.sh
starts this script on the host "far" of a testbed with --delay, because some
kernels lack netem.  The script runs until it is killed.
"""
import collections
import re
import select
import socket
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
MOST = 10 + 18 + 65536		# virtio_net's header, Ethernet's, an IP packet
BUFFER = 4 << 20


def port(name):
    """Return a socket that receives and sends unsplit frames at an interface."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK)
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
    s.bind((name, ETH_P_ALL))
    return s


def nanoseconds(text):
    found = re.fullmatch(r'([0-9]{1,6})(us|ms|s)', text)
    if found is None:
        sys.exit(f"delay.py: invalid time '{text}': not such as 10ms")
    return int(found[1]) * {'us': 1000, 'ms': 1000000, 's': 1000000000}[found[2]]


def main():
    if len(sys.argv) != 4:
        sys.exit('usage: delay.py NEAR FAR TIME')
    delay = nanoseconds(sys.argv[3])
    near, far = port(sys.argv[1]), port(sys.argv[2])
    other = {near: far, far: near}
    held = collections.deque()		# (when, to, frame): in order, both ways
    while True:
        wait = max(0, held[0][0] - time.monotonic_ns()) / 1e9 if held else None
        for s in select.select(other, (), (), wait)[0]:
            try:
                frame = s.recv(MOST)
            except OSError:
                continue	# no frame is waiting, or the link is down
            held.append((time.monotonic_ns() + delay, other[s], frame))
        while held and held[0][0] <= time.monotonic_ns():
            _, to, frame = held.popleft()
            try:
                to.send(frame)
            except OSError:
                pass		# lost: a queue is full, or the link is down


if __name__ == '__main__':
    main()
