"""frames.py send IFACE MAC | recv IFACE SECONDS N | attached IFACE | load ADDR RATE
           rxvlan IFACE...
           play IFACE MAC FILE VLAN | heard IFACE SECONDS | same FILE FILE
           updates IFACE MAC N VLAN,ADDR,PORT,WORKER,VALUE... | values IFACE SECONDS
           capture FILE N VLAN,ADDR,PORT,WORKER,VALUE... | inside FILE

send:      frames of every kind a switch in the path must not touch, to MAC
recv:      those that came, in hex, in order, until none has for SECONDS;
           as long as fewer than N have come, until none has for 20 s
rxvlan:    does each take VLAN tags off the frames that come?  on or off
attached:  how many programs are at the ingress hook of IFACE
play:      the frames of a capture at IFACE, to MAC, with a tag (VLAN)
heard:     tag, port and length of each UDP datagram over IPv4 that came
updates:   N rounds of an update of cluster 1 to each destination, from two
           workers in turn
values:    tag, destination and value of each update that came
capture:   the same updates in a capture, 0.5 ms apart
inside:    tag, destination and value of each update in a capture
same:      are the frames of two captures the same, and in each flow in the same
           order?  All but checksums, which who offloads them makes later, and
           two, or a tenth, of TCP's: its kernel answers on any processor
load:      datagrams whose frames are RATE bit/s, evenly, until killed
"""
import ctypes
import os
import socket
import struct
import sys
import time

MARK = b"innet-test-frame"


def ip4(tos, frag, proto, data, dst=b"\x0a\x4d\x00\x02"):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(data), 7, frag, 64,
                       proto, 0, b"\x0a\x4d\x00\x0a", dst)
    s = sum(struct.unpack("!10H", head))
    s = ~((s & 0xffff) + (s >> 16)) & 0xffff
    return head[:10] + struct.pack("!H", s) + head[12:] + data


def ip6(tos, proto, data, dst=bytes(15) + b"\x02"):
    return struct.pack("!IHBB", 6 << 28 | tos << 20, len(data), proto, 64) + \
        bytes(15) + b"\x01" + dst + data


def udp(port, data):
    return struct.pack("!HHHH", 5555, port, 8 + len(data), 0) + data


def kinds(src, dst):
    """Frames, each with MARK and a number at its end."""
    group = b"\x01\x00\x5e\x01\x02\x03"
    for k in range(40):
        end = MARK + bytes([k])
        tcp = struct.pack("!HHIIHHHH", 1, 2, 3, 4, 5 << 12, 9, 0, 0)
        yield from (
            # ARP; TCP and UDP with the codepoints; no UDP of innet's
            dst + src + b"\x08\x06" + bytes(28) + end,
            dst + src + b"\x08\x00" + ip4(0x2c, 0, 6, tcp + end),
            dst + src + b"\x08\x00" + ip4(0x2c, 0, 17, udp(99, b"x" + end)),
            dst + src + b"\x08\x00" + ip4(0x1c, 0, 17, udp(99, b"x" + end)),
            dst + src + b"\x08\x00" + ip4(0x0c, 0, 17, udp(99, b"x" + end)),
            # fragments of marked datagrams
            dst + src + b"\x08\x00" + ip4(0x2c, 0x2000, 17, udp(99, bytes(15) + end)),
            dst + src + b"\x08\x00" + ip4(0x2c, 0x0003, 17, bytes(16) + end),
            # a tag, and another one
            dst + src + b"\x81\x00\x00\x07\x08\x00" + ip4(0, 0, 17, udp(9, end)),
            dst + src + b"\x81\x00\x00\x07\x08\x00" + ip4(0x2c, 0, 17, udp(9, end)),
            # of a spanning tree, which a bridge that has none passes on
            b"\x01\x80\xc2\0\0\0" + src + struct.pack("!H", 3 + 35 + 17) +
            b"\x42\x42\x03" + bytes(35) + end,
            # multicast, and an unknown protocol
            group + src + b"\x08\x00" + ip4(0x2c, 0, 17, udp(9, end), group[2:]),
            dst + src + b"\x88\xb5" + end,
            dst + src + b"\x86\xdd" + ip6(0x2c, 17, udp(99, end)),
            dst + src + b"\x86\xdd" + ip6(0x2c, 58, bytes(16) + end))


def send(name, mac):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((name, 0))
    src = s.getsockname()[4]
    for f in kinds(src, bytes.fromhex(mac.replace(":", ""))):
        s.send(f)
        time.sleep(0.0005)


def play(name, mac, path, vlan):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((name, 0))
    data, at = open(path, "rb").read(), 24
    while at < len(data):
        n = struct.unpack_from("<I", data, at + 8)[0]
        f = data[at + 16:at + 16 + n]
        s.send(bytes.fromhex(mac.replace(":", "")) + s.getsockname()[4] +
               struct.pack("!HH", 0x8100, vlan) + f[12:])
        at += 16 + n


def came(name, seconds, wanted, count=0):
    """Each wanted frame, with the tag that the kernel took off, until none
    has come for so many seconds, or for 20 if fewer than count have."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((name, 3))
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)    # SO_RCVBUFFORCE
    s.setsockopt(263, 8, 1)     # PACKET_AUXDATA: tags
    s.settimeout(0.1)
    last = time.monotonic() + 20        # it may be long before any comes
    print("ready", flush=True)
    while True:
        try:
            f, more, _, at = s.recvmsg(65536, 256)
        except socket.timeout:
            if time.monotonic() < last + (20 if count > 0 else seconds):
                continue
            return
        for _, kind, aux in more:
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", aux[:20])
            if kind == 8 and status & 0x10:
                f = f[:12] + struct.pack("!HH", tpid, tci) + f[12:]
        if at[2] != 4 and wanted(f):
            last = time.monotonic()
            count -= 1
            yield f


def recv(name, seconds, count):
    for f in came(name, seconds, lambda f: f[-17:-1] == MARK, count):
        print(f[14:].hex(), flush=True)


def datagram(f):
    """Tag, port and length of a datagram over IPv4, or None."""
    tag = f[12:14] == b"\x81\x00" and int.from_bytes(f[14:16], "big")
    ip = f[18:] if tag else f[14:]
    return ip[:1] == b"\x45" and ip[9] == 17 and \
        (tag, int.from_bytes(ip[22:24], "big"), len(ip))


def heard(name, seconds):
    for f in came(name, seconds, datagram):
        print(*datagram(f), flush=True)


def trainings(rounds, destinations):
    """For each round, the frames of an update to each destination, without
    their Ethernet addresses."""
    for sequence in range(1, int(rounds) + 1):
        frames = []
        for d in destinations:
            vlan, host, port, worker, value_ = d.split(",")
            data = udp(int(port), struct.pack(
                ">BBHIIHHQfI", 1, 1, 1, 2 * int(worker) + sequence % 2,
                sequence, 1, 0, time.time_ns(), 1.0, 1) +
                struct.pack("<f", float(value_)))
            tag = b"" if vlan == "0" else struct.pack("!HH", 0x8100, int(vlan))
            frames.append(tag + (
                b"\x86\xdd" + ip6(0x2c, 17, data,
                                  socket.inet_pton(socket.AF_INET6, host))
                if ":" in host else
                b"\x08\x00" + ip4(0x2c, 0, 17, data, socket.inet_aton(host))))
        yield frames


def updates(name, mac, rounds, *destinations):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((name, 0))
    mac = bytes.fromhex(mac.replace(":", "")) + s.getsockname()[4]
    for frames in trainings(rounds, destinations):
        for f in frames:
            s.send(mac + f)
        time.sleep(0.0005)


def capture(path, rounds, *destinations):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        at = 0
        for frames in trainings(rounds, destinations):
            for f in frames:
                at += 500000
                n = 12 + len(f)
                out.write(struct.pack("<IIII", at // 10**9, at % 10**9, n, n) +
                          bytes(12) + f)


def inside(path):
    data, at = open(path, "rb").read(), 24
    while at < len(data):
        n = struct.unpack_from("<I", data, at + 8)[0]
        print(value(data[at + 16:at + 16 + n]))
        at += 16 + n


def value(f):
    """Tag, destination and first element of an update without a tag of
    authentication, or None."""
    tag = f[12:14] == b"\x81\x00" and int.from_bytes(f[14:16], "big")
    ip = f[18:] if tag else f[14:]
    six = ip[:1] == b"\x62"
    if not six and (ip[:2] != b"\x45\x2c" or ip[9] != 17):
        return None
    host = socket.inet_ntop(socket.AF_INET6, ip[24:40]) if six else \
        socket.inet_ntoa(ip[16:20])
    ip = ip[40:] if six else ip[20:]
    return "%d,%s,%d %g" % (tag, host, int.from_bytes(ip[2:4], "big"),
                            struct.unpack_from("<f", ip, 40)[0])


def values(name, seconds):
    for f in came(name, seconds, value):
        print(value(f), flush=True)


def flows(path):
    """The frames of a capture by flow: tag, addresses, protocol and ports."""
    data, at, flow = open(path, "rb").read(), 24, {}
    while at < len(data):
        n = struct.unpack_from("<I", data, at + 8)[0]
        f = bytearray(data[at + 16:at + 16 + n])
        at += 16 + n
        ip = 18 if f[12:14] == b"\x81\x00" else 14
        kind = f[ip - 2:ip]
        six = kind == b"\x86\xdd"
        ports = ip + (40 if six else 20)
        proto = f[ip + 6] if six else f[ip + 9] if kind == b"\x08\0" else -1
        if proto in (6, 17):
            sum_at = ports + (16 if proto == 6 else 6)
            f[sum_at:sum_at + 2] = b"\0\0"
        key = bytes(f[12:ip] + (f[ip + 8:ip + 40] if six else
                                f[ip + 12:ip + 20])), proto, \
            bytes(f[ports:ports + 4]) if proto in (6, 17) else b""
        flow.setdefault(key, []).append(bytes(f))
    return flow


def same(sent, came):
    a, b = flows(sent), flows(came)
    print(sum(map(len, a.values())), "frames,", len(a), "flows,",
          max(len(f) for v in a.values() for f in v), "bytes at most")
    for key in a.keys() | b.keys():
        x, y = a.get(key, []), b.get(key, [])
        if key[1] == 6 and sorted(x) == sorted(y) and \
                sum(f != g for f, g in zip(x, y)) <= max(2, len(x) // 10):
            continue
        for k, (f, g) in enumerate(zip(x, y)):
            if f != g:
                sys.exit("%s: frame %d: %s, then %s" %
                         (key, k, f.hex()[:200], g.hex()[:200]))
        if len(x) != len(y):
            sys.exit("%s: %d frames, then %d" % (key, len(x), len(y)))


def attached(name):
    ids = (ctypes.c_uint32 * 64)()
    attr = ctypes.create_string_buffer(struct.pack(
        "IIIIQI", socket.if_nametoindex(name), 46, 0, 0, ctypes.addressof(ids),
        64) + bytes(64))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(321 if os.uname().machine == "x86_64" else 280, 16, attr,
                    64) < 0:
        sys.exit("no look at hooks: " + os.strerror(ctypes.get_errno()))
    print(struct.unpack_from("I", attr, 24)[0])


def rxvlan(name):
    flags = ctypes.create_string_buffer(struct.pack("II", 0x25, 0))
    libc = ctypes.CDLL(None, use_errno=True)
    r = struct.pack("16sQ8x", name.encode(), ctypes.addressof(flags))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        if libc.ioctl(s.fileno(), 0x8946, r) < 0:
            sys.exit(name + ": " + os.strerror(ctypes.get_errno()))
    return "on" if struct.unpack_from("II", flags)[1] & 1 << 8 else "off"


def load(host, rate):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    step, at = 514 * 8 / rate, time.monotonic()
    print("ready", flush=True)
    while True:
        s.sendto(bytes(514 - 42), (host, 9))
        at += step
        time.sleep(max(0, at - time.monotonic()))


if sys.argv[1] == "send":
    send(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "recv":
    recv(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "play":
    play(*sys.argv[2:5], int(sys.argv[5]))
elif sys.argv[1] == "heard":
    heard(sys.argv[2], float(sys.argv[3]))
elif sys.argv[1] == "updates":
    updates(*sys.argv[2:])
elif sys.argv[1] == "capture":
    capture(*sys.argv[2:])
elif sys.argv[1] == "inside":
    inside(sys.argv[2])
elif sys.argv[1] == "values":
    values(sys.argv[2], float(sys.argv[3]))
elif sys.argv[1] == "same":
    same(*sys.argv[2:4])
elif sys.argv[1] == "load":
    load(sys.argv[2], float(sys.argv[3]))
elif sys.argv[1] == "rxvlan":
    print(*map(rxvlan, sys.argv[2:]))
else:
    attached(sys.argv[2])
