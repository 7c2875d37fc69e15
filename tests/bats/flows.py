"""flows.py send HOST MTU | sink HOST MTU

send:  a stream and datagrams that are no innet's to HOST, some of them with
       innet's codepoints, in runs (UDP_SEGMENT) and one by one, and to a group
sink:  what came of each: how many, and how many were damaged or out of order
"""
import hashlib
import os
import select
import socket
import struct
import sys
import time

GROUP, COUNT, BYTES = "239.7.7.7", 300, 4 << 20
FLOWS = {7001: 0x0c, 7002: 0x1c, 7003: 0x2c}    # port: ToS, DSCP 3, 7, 11


def body(port, k, size):
    seed = hashlib.sha256(b"%d %d" % (port, k)).digest()
    return struct.pack("!I", k) + (seed * (size // 32 + 1))[:size - 4]


def send(host, mtu):
    size, run = mtu - 28, 6
    stream = socket.create_connection((host, 7000))
    stream.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x2c)
    data = hashlib.sha256(b"stream").digest() * (BYTES // 32)
    udp = {}
    for port, tos in FLOWS.items():
        s = udp[port] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    group.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
    group.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                     socket.inet_aton(stream.getsockname()[0]))
    for k in range(0, COUNT, run):
        stream.sendall(data[BYTES * k // COUNT:BYTES * (k + run) // COUNT])
        for port, s in udp.items():
            if k % 12 == 0:
                s.sendmsg([body(port, k + i, size) for i in range(run)],
                          [(17, 103, struct.pack("=H", size))], 0,
                          (host, port))
            for i in range(run if k % 12 else 0):
                s.sendto(body(port, k + i, size), (host, port))
        for i in range(run):
            group.sendto(body(7004, k + i, size), (GROUP, 7004))
        time.sleep(0.002)
    stream.close()


def sink(host, mtu):
    listener = socket.create_server((host, 7000))
    udp, came, bad = {}, {}, {}
    for port in (*FLOWS, 7004):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        s.bind((GROUP if port == 7004 else host, port))
        udp[s], came[port], bad[port] = port, 0, 0
        if port == 7004:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                         socket.inet_aton(GROUP) + socket.inet_aton(host))
    print("ready", flush=True)
    stream, data = listener.accept()[0], hashlib.sha256()
    size, most, end = 0, {**udp, stream: 0}, time.monotonic() + 20
    while most and time.monotonic() < end:
        for s in select.select(list(most), [], [], 1)[0]:
            p = s.recv(65536)
            if s is stream:
                data.update(p)
                size += len(p)
                if not p:
                    del most[s]
                continue
            port = udp[s]
            bad[port] += p != body(port, came[port], mtu - 28)
            came[port] += 1
            if came[port] == COUNT:
                del most[s]
    whole = hashlib.sha256(hashlib.sha256(b"stream").digest() * (BYTES // 32))
    print("stream", size, "bytes,", "good" if data.digest() == whole.digest()
          else "bad")
    for port in came:
        print("datagrams %d: %d of %d, %d bad" % (port, came[port], COUNT,
                                                  bad[port]))


# Stay on one processor.  The datagrams of a sender that moves to another processor
# may overtake each other in the kernel, and Linux 6.18 delivers datagrams out of
# order to a reader on another processor than the one that receives them.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
{"send": send, "sink": sink}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
