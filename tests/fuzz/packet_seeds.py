"""packet_seeds.py - make seeds that are packets: updates, segments, control
messages, DLP sessions, the gradient stream, and captures of these."""
import struct

from corpus_file import put
from frame_seeds import MACS, eth, frames, ip4, ip6, several, update


def updates():
    big = 3.4028234663852886e38
    put("update", "update", update())
    put("update", "first-of-three", update(2, following=2, elements=5))
    put("update", "last-of-three", update(1, elements=5))
    put("update", "weights", update(kind=3, merged=0))
    put("update", "model", update(kind=2, status=bytes(
        [0, 0, 5, 3, 0, 9, 0, 8])))
    put("update", "model-cut-in-status", update(0, kind=2, status=bytes(4)))
    put("update", "merged", update(merged=27))
    put("update", "merged-none", update(merged=0))
    put("update", "merged-most", update(merged=65535))
    put("update", "following-lies", update(following=9))
    put("update", "elements-lie", update(elements=3))
    put("update", "elements-most", update(elements=0xffffffff, following=1))
    put("update", "empty", update(0))
    put("update", "half-an-element", update()[:-2])
    put("update", "short", update()[:31])
    put("update", "version-2", update(version=2))
    put("update", "kind-4", update(kind=4))
    put("update", "reward-nan", update(reward=float("nan")))
    put("update", "element-infinite", update(values=[1, 2, 3, float("inf")]))
    put("update", "extremes", update(20, values=[big, -big] * 5
                                     + [big] * 5 + [1e-45, -0.0, 1e-38, 1, 0]))


def segments():
    def seg(iteration, contributions, index, n=2, cut=0):
        word = iteration << 40 | contributions << 24 | index
        data = struct.pack(">Q", word) + struct.pack("<%df" % n, *range(n))
        return data[:len(data) - cut]
    put("seg", "contribution", seg(7, 1, 3))
    put("seg", "result", seg(7, 4, 3))
    put("seg", "full-1500", seg(1, 1, 0, 366))
    put("seg", "extremes", seg(0xffffff, 0xffff, 0xffffff))
    put("seg", "wrap", seg(0xffffff, 1, 0, 0) + seg(0, 1, 0, 1))
    put("seg", "no-float", seg(7, 1, 3, 0))
    put("seg", "half-a-float", seg(7, 1, 3, cut=2))
    put("seg", "short", seg(7, 1, 3, 0)[:7])
    put("seg", "empty", b"")


def controls():
    def message(action, body=b"", flags=0, tail=b"", job=1, xid=9):
        return struct.pack(">BBHI", action, flags, job, xid) + body + tail

    def ack(action, status=0, body=b""):
        return message(8, bytes([action, status]) + body)

    def join(kind=1, mode=0):
        return message(1, struct.pack(">BBHIIHII", kind, mode, 1, 2, 10000,
                                      366, 5, 0xe3069283))
    number = struct.pack(">Q", 7 << 40 | 1 << 24 | 3)
    page = b"\0\1\0\2" + b'{"job":1,"members":[]}'
    put("control", "join", join())
    put("control", "join-async-switch", join(2, 1))
    put("control", "join-type-0", join(0))
    put("control", "join-mode-2", join(1, 2))
    put("control", "join-cut", join()[:-1])
    put("control", "join-longer", join() + b"later")
    put("control", "join-rule", join() + struct.pack(
        ">BHBHI", 128, 3, 4, 0, 50000))
    for code, name, body in (
            (2, "leave", b""), (3, "reset", b""), (4, "set-h", b"\0\4"),
            (5, "fbcast", number), (6, "help", number), (7, "halt", b""),
            (16, "resume", b""), (17, "members", b"\0\0"),
            (18, "stats", b"\0\1")):
        put("control", name, message(code, body))
    put("control", "set-h-cut", message(4, b"\0"))
    put("control", "help-cut", message(6, number[:-1]))
    put("control", "ack-join", ack(1, 5, struct.pack(
        ">HHHIHIH", 3, 4, 4, 5, 366, 10000, 10)))
    put("control", "ack-join-refused-spans", ack(1, 5, bytes(18) + b"\x16x"))
    put("control", "ack-join-cut", ack(1, 0, bytes(17)))
    put("control", "ack-set-h", ack(4, 0, b"\0\3"))
    put("control", "ack-fbcast", ack(5, 0, b"\0\2"))
    put("control", "ack-help-done", ack(6))
    put("control", "ack-help-gone", ack(6, 8, number))
    put("control", "ack-members", ack(17, 0, page))
    put("control", "ack-stats-no-text", ack(18, 1, b"\0\0\0\0"))
    put("control", "ack-unknown", ack(99, 255))
    put("control", "ack-empty", message(8))
    put("control", "seal", message(7, flags=4, tail=bytes(24)))
    put("control", "seal-cut", message(7, flags=4, tail=bytes(23)))
    put("control", "seal-in-body", message(4, b"", 4, bytes(25)))
    put("control", "pass", message(7, flags=2, tail=bytes(24)))
    put("control", "pass-and-seal", message(7, flags=14, tail=bytes(48)))
    put("control", "flags-unknown", message(7, flags=0xf1))
    put("control", "action-0", message(0))
    put("control", "action-9", message(9))
    put("control", "short", message(7)[:7])


def message(kind, body=b"", elements=None, flags=0, magic=b"INET"):
    n = len(body) // 4 if elements is None else elements
    return struct.pack("<4sHHIfQII", magic, kind, flags, n, 1.5, 7, 3, 0) \
        + body


def streams():
    hello = b'{"version":1,"elements":2}'
    v = struct.pack("<2f", 1, 2)
    session = message(1, hello, len(hello)) + message(4, v) \
        + message(2, v) + message(3, v, flags=4) + message(3) + message(5)
    for step in (0, 6, 255):
        put("stream", "session-by-%d" % (step + 1), bytes([step]) + session)
    put("stream", "cut-in-body", b"\7" + session[:-40])
    put("stream", "cut-in-header", b"\7" + session[:-5])
    put("stream", "no-magic", b"\7" + message(2, v, magic=b"INFO"))
    put("stream", "kind-0", b"\7" + message(0))
    put("stream", "kind-6", b"\7" + message(6))
    put("stream", "hello-too-long", b"\7" + message(1, b"", 65537))
    put("stream", "vector-most", b"\7" + message(2, v, 1 << 28))
    put("stream", "vector-too-long", b"\7" + message(2, v, (1 << 28) + 1))
    put("stream", "bad-after-good", b"\7" + message(2, v) + b"garbage" * 9)


def classic(magic="<I", nano=True, packets=(b"abc", b"", bytes(60)), lens=0,
            version=(2, 4), link=1):
    e = magic[0]
    out = struct.pack(e + "IHHiIII", 0xa1b23c4d if nano else 0xa1b2c3d4,
                      *version, 0, 0, 65535, link)
    for i, p in enumerate(packets):
        out += struct.pack(e + "IIII", 1700000000, i, len(p), len(p) + lens)
        out += p
    return out


def block(kind, body, e="<"):
    body += bytes(-len(body) % 4)
    n = 12 + len(body)
    return struct.pack(e + "II", kind, n) + body + struct.pack(e + "I", n)


def pcapng(e="<", caplen=60, link=1, simple=False):
    out = block(0x0a0d0d0a, struct.pack(e + "IHHq", 0x1a2b3c4d, 1, 0, -1), e)
    out += block(1, struct.pack(e + "HHIHHB3xHH", link, 0, 0, 9, 1, 9, 0, 0),
                 e)
    if simple:
        return out + block(3, struct.pack(e + "I", caplen) + bytes(caplen), e)
    ns = 1700000000123456789
    return out + block(6, struct.pack(e + "IIIII", 0, ns >> 32,
                                      ns & 0xffffffff, caplen, caplen)
                       + bytes(caplen), e)


def captures():
    ok = classic()
    put("pcapio", "ns", ok)
    put("pcapio", "ns-swapped", classic(">I"))
    put("pcapio", "us", classic(nano=False))
    put("pcapio", "us-swapped", classic(">I", nano=False))
    put("pcapio", "snapped", classic(lens=1000))
    put("pcapio", "len-below-caplen", classic(lens=-1, packets=(b"abc",)))
    put("pcapio", "header-only", ok[:24])
    put("pcapio", "empty", b"")
    put("pcapio", "cut-in-file-header", ok[:20])
    put("pcapio", "cut-in-record-header", ok[:24 + 16 + 3 + 9])
    put("pcapio", "cut-in-data", ok[:-1])
    for name, n in (("most", 262144), ("past-most", 262145),
                    ("huge", 0xfffffff0)):
        put("pcapio", "caplen-" + name,
            ok[:32] + struct.pack("<I", n) + ok[36:])
    put("pcapio", "fraction-huge", ok[:28] + b"\xff" * 4 + ok[32:])
    put("pcapio", "stamp-last", ok[:24] + b"\xff" * 8 + ok[32:])
    put("pcapio", "pcapng", pcapng())
    put("pcapio", "pcapng-swapped", pcapng(">"))
    put("pcapio", "pcapng-simple", pcapng(simple=True))
    put("pcapio", "pcapng-dbus", pcapng(link=231))
    put("pcapio", "pcapng-cut", pcapng()[:-7])
    put("pcapio", "sll-copies", classic(
        packets=[b"\0\4\3\4" + bytes(12), bytes(16)], link=113))
    put("pcapio", "modified", struct.pack("<I", 0xa1b2cd34) + ok[4:])
    put("pcapio", "text", b"not a capture, but long enough to be one")


def filters():
    """Write a settings byte, a rate byte and a capture: see tests/fuzz/filter.c."""
    def queue(name, settings, packets, rate=6):
        put("filter", name, bytes([settings, rate]) + classic(
            packets=[eth(ip4(payload=p)) if isinstance(p, bytes) else p[0]
                     for p in packets]))
    a, b = update(), update(values=[9, 8, 7, 6], merged=3)
    queue("merge-mean", 3, [a, a, b, b])
    queue("merge-sum", 16 + 3, [a, a, b, b])
    queue("fifo-full", 8, [a, b, a, b, a])
    queue("rewards", 32 + 3, [a, a, update(reward=9), update(reward=-9)])
    queue("limit", 3, [a, update(merged=65000), update(merged=65000)])
    queue("ranges", 7, [update(2, following=1, elements=4),
                        update(2, elements=4)] * 3)
    queue("mismatched", 3, [a, update(5)])
    queue("models", 2, [a, update(kind=2, status=bytes(8)), update(kind=3)])
    queue("regular-queued", 64 + 1, [a, (eth(ip4(tos=0)),), b"short", a])
    queue("propagation", 128 + 3, [a, (eth(ip4(tos=0)),), b, a], rate=20)
    queue("ignored", 3, [update(version=2), update(kind=9), update()[:20],
                         (eth(ip4(payload=a, frag=0x2000)),),
                         (eth(ip4(payload=a, check=1)),)])
    queue("offloaded", 3, [a, (eth(ip4(payload=a * 9, check="partial")),),
                           (eth(ip4(payload=a + bytes(70), check=0)),)])
    put("filter", "ppp", bytes([3, 6]) + classic(
        packets=[b"\0\x21" + ip4(payload=a), b"\xc0\x21" + bytes(9)] * 2,
        link=9))
    put("filter", "raw-v6", bytes([3, 6]) + classic(
        packets=[ip6(payload=a)] * 3, link=101))
    put("filter", "sll", bytes([3, 6]) + classic(
        packets=[bytes(14) + b"\x08\0" + ip4(payload=a)] * 3, link=113))


def dlps():
    """Write settings, workers and iterations, packets: see tests/fuzz/dlp.c."""
    def short(w, state, nodes=1, step=0, v=0):
        return struct.pack(">BBBBi", w, state, nodes, step, v)

    def raw(w, state, nodes=1, step=0, params=(0,) * 6):
        return bytes([64 | w, 0]) + struct.pack(">BBI6i", state, nodes, step,
                                                *params)

    def session(n, steps, values=(5, -3, 2147483647, -2147483648)):
        out = b"".join(short(w, 1) for w in range(n))
        for s in range(steps):
            out += short(0, 10, step=s)
            out += b"".join(short(w | 128, 2, 1, s, values[(w + s) % 4])
                            for w in range(n))
            out += short(0, 2, 1, s, 1)
        return out + short(0, 2, 1, steps - 1) + short(0, 1)

    for name, how in (("mean", 0), ("median", 2), ("mean-late", 4),
                      ("median-late", 6)):
        put("dlp", "switch-" + name, bytes([how, 1 << 5 | 3])
            + raw(0, 6, 3, params=(2, 5, 5, 4, 2, 100)) + session(3, 2) * 2)
        put("dlp", "server-" + name, bytes([how | 1, 2 << 5 | 4])
            + session(4, 2))
    put("dlp", "workers-32", bytes([2, 0]) + raw(0, 6, 32, params=(
        1, 0, 0, 0, 0, 0)) + session(32, 1))
    put("dlp", "workers-33", bytes([0, 0]) + raw(0, 6, 33))
    put("dlp", "setting-negative", bytes([0, 0]) + raw(0, 6, 1, params=(
        1, 1, 1, 1, 1, -1)))
    put("dlp", "lengths", bytes([0, 0]) + bytes([192, 29]) + bytes(29)
        + bytes([192, 31]) + bytes(31) + bytes([192, 0]))
    put("dlp", "reset-and-strangers", bytes([24, 1 << 5 | 2]) + raw(0, 6, 2)
        + short(0, 1) + short(1, 1) + short(9, 2) + short(9, 1)
        + short(0, 2, 1, 7) + raw(9, 6, 3) + short(9, 5) + short(0, 2))
    put("dlp", "every-state", bytes([0, 0]) + b"".join(
        short(0, s) for s in range(256)))


SEG, CONTROL = 0x1c, 0x0c


def seg(t, i, *values):
    return struct.pack(">Q", t << 40 | 1 << 24 | i) \
        + struct.pack("<%df" % len(values), *values)


def ask(action, xid, body=b"", job=1):
    return struct.pack(">BBHI", action, 0, job, xid) + body


def join(w, xid=1, elements=6, kind=1, mode=0, floats=4, first=1, crc=0,
         job=1):
    return ask(1, xid, struct.pack(">BBHIIHII", kind, mode, 0, w, elements,
                                   floats, first, crc), job)


def vector(t, *workers, after=0):
    return [(w, after, SEG, seg(t, i, *[w + 1.0] * n))
            for i, n in ((0, 4), (1, 2)) for w in workers]


def word(t, i):
    return struct.pack(">Q", t << 40 | i)


def sessions(mode=0):
    """Return names with lists of (sender, one of eight delays, ToS, payload)."""
    def joins(*workers, **kw):
        return [(w, 0, CONTROL, join(w, mode=mode, **kw)) for w in workers]
    opened = joins(0, 1, 2)
    wait = [(7, 6, 0, b"")]
    two = vector(1, 0, 1, 2) + vector(2, 0, 1, 2)
    for c in range(16):
        yield "small-%d" % c, joins(0, 1) + wait + vector(c + 1, 0, 1)
    yield "two-iterations", opened + wait + two
    yield "repeated", opened + wait + vector(1, 0, 0, 1) \
        + vector(1, 0, 1, 2) * 2 + vector(2, 0) + vector(3, 0)
    yield "help", opened + wait + vector(1, 0) + [
        (0, 3, CONTROL, ask(6, 2, word(1, 0))),
        (1, 0, CONTROL, ask(6, 2, word(1, 1)))] + vector(1, 1, 2) + [
        (2, 0, CONTROL, ask(6, 2, word(1, 0))),
        (2, 0, CONTROL, ask(6, 3, word(9, 0))),
        (2, 0, CONTROL, ask(6, 4, word(0, 9)))]
    yield "commands", opened + wait + vector(1, 0) + [
        (5, 0, CONTROL, ask(4, 1, b"\0\1")), (5, 0, CONTROL, ask(7, 2)),
        (0, 0, SEG, seg(1, 0, 1, 2, 3, 4)), (5, 0, CONTROL, ask(16, 3)),
        (5, 0, CONTROL, ask(5, 4, word(1, 0))),
        (5, 0, CONTROL, ask(17, 5, b"\0\0")),
        (5, 0, CONTROL, ask(18, 6, b"\0\0")),
        (1, 0, CONTROL, ask(2, 2)), (5, 0, CONTROL, ask(3, 7))] \
        + joins(0, 1, xid=9, first=7) + vector(7, 0, 1)
    yield "comes-back", opened + wait + vector(1, 0) + [
        (0, 0, CONTROL, ask(2, 2)), (3, 0, CONTROL, join(0, mode=mode))] \
        + vector(1, 1, 2) + vector(2, 1, 2, 3)
    yield "timed-out", opened + wait + vector(1, 0, 1) + wait * 2 \
        + vector(1, 1, 2) + [(2, 7, SEG, seg(1, 0, 1, 1, 1, 1))] * 2
    yield "two-jobs", joins(0, 1) + joins(2, 3, job=2, floats=2) + wait \
        + vector(1, 0, 1) + [(w, 0, SEG, seg(1, 0, 5, 5)) for w in (2, 3)]
    yield "stragglers", opened + wait + vector(1, 0) + vector(1, 1, after=4) \
        + vector(2, 0) + vector(2, 2, after=5) + vector(1, 2)
    yield "no-room", joins(0, 1, elements=100000) + joins(2, 3)
    yield "wraps", joins(0, 1, first=(1 << 24) - 1) + wait \
        + vector((1 << 24) - 1, 0, 1) + vector(0, 0, 1) + vector(1, 0, 1)
    yield "stranger", vector(1, 0, 1, 2) + vector(2, 0, 1, after=6)
    yield "bad", [(0, 0, SEG, b"abc"), (0, 0, SEG, seg(1, 0)),
                  (0, 0, CONTROL, b"x"), (0, 0, CONTROL, ask(99, 1)),
                  (0, 0, CONTROL, join(0)[:20]), (0, 0, 0, b"hello")]
    acked = [(8, 0, CONTROL, ask(8, 7, struct.pack(
        ">BBHHHIHIH", 1, 0, 0, 2, 2, 1, 4, 6, 3)))]
    yield "child", joins(0, 1) + acked + joins(0, 1, xid=2) + wait \
        + vector(1, 0, 1) + [(8, 0, SEG, seg(1, 0, 9, 9, 9, 9)),
                             (8, 0, CONTROL, ask(6, 1, word(1, 1))),
                             (8, 0, SEG, seg(1, 1, 9, 9)),
                             (8, 0, CONTROL, ask(7, 2)),
                             (8, 0, CONTROL, ask(16, 3)),
                             (8, 0, CONTROL, ask(3, 4))]


def rules():
    """Return sessions whose Joins name a rule, with their names."""
    wait = [(7, 6, 0, b"")]
    for reduce, detail, late in (4, 0, 0), (5, 1, 0), (3, 9, 90), (2, 0, 40):
        rule = struct.pack(">BHBHI", 128, 3, reduce, detail, 1000 * late)
        yield "rule-%d" % reduce, [(w, 0, CONTROL, join(w) + rule)
                                   for w in range(3)] \
            + wait + vector(1, 0, 1) + wait + vector(1, 2) + vector(2, 0, 2, 1)


def switches():
    """Write settings and datagrams: see tests/fuzz/iswitch.c."""
    tos = {SEG: 0, CONTROL: 1, 0: 3}
    kinds = [0, 1, 2, 3, 4, 32, 64, 65]
    both = list(sessions()) + [("async-" + name, session)
                               for name, session in sessions(mode=1)]
    both += rules()
    for k, (name, session) in enumerate(both):
        data = b"".join(bytes([who & 7 | after << 3 | tos[t] << 6,
                               (len(p) & 63) | (who & 8) << 4]) + p
                        for who, after, t, p in session)
        kind = 16 if "child" in name else 64 if name == "stragglers" \
            else kinds[k % len(kinds)]
        if name[:5] == "async":
            kind |= 8
        put("iswitch", name, bytes([kind, k % 4 if "small" in name else 0,
                                    8 if "stranger" in name else 0]) + data)
    reset = [(w, 0, 1, join(w)) for w in (0, 1)] + [
        (7, 6, 3, b""), (0, 0, 0, seg(1, 1, 1, 2)),
        (0, 6, 0, seg(1, 0, 1, 2, 3, 4)), (5, 0, 1, ask(3, 1))]
    put("iswitch", "reset-keeps-order", bytes(3) + b"".join(
        bytes([w | after << 3 | kind << 6, len(p)]) + p
        for w, after, kind, p in reset))


def proved_switches():
    """Write the same with a token after each Seg, a quarter of them wrong."""
    for name, session in list(sessions()) + [
            ("async-" + name, s) for name, s in sessions(mode=1)]:
        if name not in ("two-iterations", "repeated", "wraps", "help",
                        "async-two-iterations", "async-repeated"):
            continue
        data, n = b"", 0
        for who, after, t, p in session:
            if t == SEG:
                n += 1
                p = p[:8] + (b"12345678" if n % 4 == 0 else bytes(8)) + p[8:]
            data += bytes([who & 7 | after << 3 | {SEG: 0, CONTROL: 1,
                           0: 3}[t] << 6, len(p) & 63]) + p
        put("iswitch", "proved-" + name,
            bytes([130 | 8 * (name[:5] == "async"), 0, 0]) + data)


def switch_captures():
    """Write settings and a capture: see tests/fuzz/iswfilter.c."""
    step = [0, 1e-9, 1e-6, 1e-2, 5e-2, .3, 1.1, 11]
    for name, session in sessions():
        now, out = 1700000000, classic(packets=())
        for who, after, t, p in session:
            now += step[after]
            src = bytes([10, 255, 255, 2] if who == 8 else [10, 0, 1, who])
            f = eth(ip4(payload=p, tos=t, src=src))
            out += struct.pack("<IIII", int(now), int(now % 1 * 1e9), len(f),
                               len(f)) + f
        put("iswfilter", name, bytes([64 if name == "stragglers" else 0, 10,
                                      2 if name == "stranger" else 0]) + out)
    mine = bytes([10, 255, 255, 1])
    a = seg(1, 0, 1, 2)
    put("iswfilter", "others", bytes([0, 10, 1]) + classic(packets=[
        eth(ip4(payload=a, tos=SEG, src=mine, dst=bytes([10, 0, 1, 1]),
                sport=46638)),
        eth(ip4(payload=a, tos=SEG, dst=bytes([10, 9, 9, 9]))),
        eth(ip4(payload=a, tos=0)), eth(ip4(payload=a, tos=SEG, check=1)),
        eth(ip4(payload=a, tos=SEG, frag=0x2000)),
        eth(ip4(payload=a, tos=SEG, length=200)),
        eth(ip4(payload=a, tos=SEG)), MACS + b"\x08\6" + bytes(28)]))


def async_workers():
    """Write packets for an asynchronous worker, for tests/fuzz/async.c."""
    def thing(what, how=0, body=b""):
        return struct.pack(">BH", what | how << 2, len(body)) + body

    def ack(flags, next_round=0, status=0, text=b""):
        body = struct.pack(">BBBHHHIHIHB", 8, 1, status, 0, 2, 2, next_round,
                           10, 95, 10, flags) + text
        return thing(2, 0, body)

    def result(t, i, n=10, summed=2):
        return thing(3, 0, struct.pack(
            ">Q", t << 40 | summed << 24 | i) + struct.pack("<f", 1) * n)

    def round_of(t):
        return b"".join(result(t, i, 5 if i == 9 else 10) for i in range(10))

    def state(t, mark, seen, flags=0, lacks=b"\0\0"):
        return thing(2, 0, struct.pack(">BBBQII", 8, 6, 0, t << 40, mark,
                     seen) + b"\0\0\0" + struct.pack(">BH", flags, 0) + lacks)
    step, second, burst = thing(0, 3), thing(0, 6), thing(0, 11)
    put("async", "rounds", b"\0" + ack(12) + step + round_of(0) + step +
        round_of(1) + step)
    put("async", "state", b"\0" + ack(12) + step + second + state(
        0, 0, 4, 0, b"\0\2\6\3") + step + second + state(0, 0, 12) + step)
    put("async", "lost-round", b"\1" + ack(12) + step + round_of(0) +
        result(1, 3) + step + result(2, 3) + second * 3)
    put("async", "server", b"\0" + ack(9) + burst + thing(2, 0, struct.pack(
        ">BQ", 6, 3)) + step + round_of(0) + second)
    put("async", "not-open", b"\0" + ack(14) + step * 50 + ack(12) + step)
    put("async", "refused", b"\0" + ack(8, 976, 4, b"go away") + second)
    put("async", "other-length", b"\0" + ack(12) + step + result(0, 0, 9) +
        result(0, 99) + result(5, 9, 10) + second)
    put("async", "not-a-member", b"\0" + ack(12) + step + thing(
        2, 0, struct.pack(">BBB", 8, 0, 3)) + second + ack(12, 1) + step)


def repairs():
    """What happens to a member and a switch: see tests/fuzz/repair.c."""
    def start(segs, ordered=False, acks=False):
        return struct.pack(">HBB", segs - 1, ordered | acks << 1, 0)

    def thing(what, how=0, body=b""):
        return struct.pack(">BH", what | how << 3, len(body)) + body

    def bitmap(lacks):
        base = min(lacks, default=0)
        bits = bytearray((max(lacks, default=-1) - base) // 8 + 1)
        for i in lacks:
            bits[(i - base) // 8] |= 1 << (i - base) % 8
        return base, struct.pack(">H", len(bits)) + bits

    def asks(t, mark, seen, last, upto, lacks=()):
        base, bits = bitmap(lacks)
        return struct.pack(">QII", t << 40 | base, mark, seen) + b"".join(
            n.to_bytes(3, "big") for n in (last, upto, 0, 0)) + bits

    def state(t, mark, seen, resent, flags, dups, lacks=()):
        base, bits = bitmap(lacks)
        return struct.pack(">BBQII", 6, 0, t << 40 | base, mark, seen) + \
            resent.to_bytes(3, "big") + struct.pack(">BH", flags, dups) + bits

    def came(*indices):
        return b"".join(thing(3, 0, i.to_bytes(2, "big")) for i in indices)

    def adds(member, t, *indices):
        return b"".join(thing(7, member | t << 1, i.to_bytes(2, "big"))
                        for i in indices)
    sent, later = thing(0), thing(0, 4)
    put("repair", "no-loss", start(9) + sent + thing(1, 0, state(
        0, 0, 9, 0, 0, 0)) + came(*range(9)) + thing(5, 1) + sent)
    put("repair", "state", start(40) + sent + later + thing(1, 0, state(
        0, 3, 40, 1, 0, 1, (2, 9, 39))) + sent + later)
    put("repair", "state-cut", start(40) + sent + later + thing(1, 0, state(
        0, 3, 40, 1, 0, 1, (2, 9, 39))[:-1]) + sent)
    put("repair", "nack", start(40) + sent + thing(2, 0, asks(
        0, 0, 0, 30, 0, (1, 2, 20))) + thing(0, 8) + sent)
    put("repair", "gaps", start(40) + sent + came(0, 1, 9) + sent + came(
        2, 3) + thing(4, 0, b"\0\2") + thing(0, 5) * 3)
    put("repair", "notice", start(9) + sent + thing(1, 0, state(
        0, 9, 9, 0, 3, 0)) + sent)
    put("repair", "result-of-another-switch", start(9) + sent + came(0) +
        thing(1, 0, state(0, 9, 9, 0, 0, 0, (0,))) + sent)
    put("repair", "rack", start(40, True) + thing(5, 1, bytes(range(40))) +
        sent + thing(1, 0, state(1, 0, 20, 0, 0, 0, (3, 5, 7))) + sent)
    put("repair", "rack-takes-back", start(40, True) + thing(
        5, 1, b"".join(i.to_bytes(2, "big") for i in range(12))) + sent +
        came(3, 5, 20) + thing(0, 7) + thing(1, 0, state(
            1, 0, 12, 0, 0, 0, (3, 5, 7, 20))) + sent)
    put("repair", "push", start(40, acks=True) + sent + thing(1, 0, state(
        0, 0, 40, 0, 0, 0, (3,))) + sent + thing(1, 0, state(
            0, 0, 41, 0, 0, 0)))
    put("repair", "wide", start(12000) + sent + later + thing(1, 0, state(
        0, 0, 2000, 0, 0, 0, (0, 11087))) + sent)
    put("repair", "switch", start(16) + adds(0, 0, *range(16)) + adds(
        1, 0, 0, 1, 3, 4, 5, 6, 7, 8, 9) + thing(6, 1, asks(
            0, 9, 0, 9, 16, (0, 1, 3))) + adds(1, 0, 2, 2, *range(10, 16)) +
        thing(6, 0, asks(0, 16, 9, 0xffffff, 16, range(16))) + adds(0, 1, 0))
    put("repair", "switch-cut", start(16) + adds(0, 0, *range(16)) + thing(
        6, 0, asks(0, 16, 9, 0xffffff, 16, range(16))[:-1]))


def control_sessions():
    """Settings and datagrams: see tests/fuzz/controls.c."""
    def say(who, payload, tos=0, after=0):
        return bytes([who | tos << 3 | after << 5, len(payload)]) + payload

    def page(action, xid, n=0, job=1):
        return ask(action, xid, struct.pack(">H", n), job)

    def all_asked(who, job=1):
        scope = struct.pack(">HB", 0, 1)
        return b"".join([
            say(who, page(20, 21, 0, job)), say(who, page(17, 22, 0, job)),
            say(who, page(18, 23, 0, job)), say(who, page(18, 23, 0, job)),
            say(who, page(17, 24, 1, job)), say(who, page(18, 22, 0, job)),
            say(who, ask(18, 25, scope, job)), say(who, ask(18, 26, b"", job)),
            say(who, page(20, 27, 65535, job))])
    regroup = struct.pack(">IHI", 1, 2, 3)
    updates = b"".join(say(w, update(), 1, 3) for w in (1, 2, 1))
    joins = say(1, join(1)) + say(2, join(2))
    segs = b"".join(say(w, p, 2, 5 if w == 1 else 0)
                    for w, _, _, p in vector(1, 1, 2))
    polls = b"".join(say(w, bytes([s, 2]) + bytes(28), 3)
                     for w, s in ((1, 6), (1, 1), (2, 1), (1, 10), (1, 2)))
    for program, life in enumerate((updates, joins + segs, polls)):
        name = ("olaf", "iswitch", "dlp")[program]
        for how, kind in (("", 0), ("-key", 64), ("-rate", 128)):
            start = bytes([kind + (program - kind) % 3])
            assert start[0] % 3 == program and start[0] & 192 == kind
            put("controls", name + how, start + life + all_asked(3)
                + all_asked(1) + all_asked(4, 9))
        put("controls", name + "-unknown", bytes([program]) + life + b"".join(
            say(1, ask(a, 50 + a, bytes(16))) for a in range(32)))
        put("controls", name + "-cut", bytes([program]) + life + b"".join(
            say(1, join(1)[:n]) for n in range(0, 32, 3)))
    put("controls", "olaf-regroup", bytes([0]) + updates
        + say(3, ask(21, 1, regroup)) + updates + say(3, page(17, 2, 0, 2))
        + say(3, ask(21, 3, regroup[:5])) + say(7, update(kind=2), 1))
    def of(kind):       # the settings byte that selects program olaf
        return next(bytes([kind + k]) for k in range(3) if (kind + k) % 3 == 0)
    proved = b"".join(say(w, update(), 3, 3) for w in (1, 2, 1))
    for kind in (32, 96, 96 + 128):
        put("controls", f"olaf-open-{kind}", of(kind) + b"".join(
            say(w, ask(19, 1, b"")) for w in (1, 2)) + proved
            + say(1, ask(19, 2, b"")) + proved + updates + all_asked(1))
    put("controls", "dlp-pass-made-up", bytes([2])
        + say(1, b"\x12\2" + ask(18, 7, bytes(2))[2:] + bytes(24)))
    put("controls", "iswitch-late", bytes([1]) + joins + segs
        + say(3, page(17, 2), 0, 7) + say(3, page(20, 3), 0, 7))


def iterations():
    """Settings, packets: see tests/fuzz/iterations.c."""
    def say(a, b, kind, data, after=10, file=0, cut=0):
        return bytes([a | b << 2 | kind << 4 | file << 6 | cut << 7, after,
                      len(data)]) + data

    def joined(a, mode=0):
        done = struct.pack(">BBHHHIHIHB", 1, 0, 0, 2, 2, 1, 4, 6, 5, 8 * mode)
        return say(a, 0, 1, join(a, mode=mode)) + say(0, a, 1,
                                                      ask(8, 1, done))

    def up(a, t, i, **kw):
        return say(a, 0, 0, seg(t, i, *[1.0] * (4 - 2 * i)), **kw)

    def down(a, t, i, **kw):
        return say(0, a, 0, seg(t, i, *[2.0] * (4 - 2 * i)), **kw)

    def both(t, **kw):
        return b"".join(f(a, t, i, **kw) for f in (up, down)
                        for a in (2, 3) for i in (0, 1))

    def dlp(a, b, state, nodes=1, step=0, v=0):
        return say(a, b, 2, struct.pack(">BBI6i", state, nodes, step, v, 0, 0,
                                        0, 0, v))

    def steps(n, first=0):
        return b"".join(dlp(a, 1, 2, 1, t, 5) for t in range(first, first + n)
                        for a in (2, 3)) + b"".join(
            dlp(1, a, 2, 2, t, 10) for t in range(first, first + n)
            for a in (2, 3))

    joins = joined(2) + joined(3)
    probe = struct.pack(">Q4I", 1 << 40, 2, 0, 1 << 8, 1 << 8) + bytes(10)
    state = bytes([6, 0]) + struct.pack(">Q2I", 1 << 40, 2, 2) + bytes(8)
    four = b"".join(both(t) for t in range(1, 5))
    put("iterations", "in-step", bytes([0]) + joins + four)
    put("iterations", "no-joins", bytes([0]) + four)
    put("iterations", "no-switch", bytes([0]) + say(2, 3, 0, seg(1, 0, 1.0))
        + say(3, 2, 0, seg(1, 0, 1.0)))
    put("iterations", "switch-given", bytes([8]) + say(2, 3, 0, seg(
        1, 0, 1.0)) + say(3, 2, 0, seg(1, 0, 1.0)))
    put("iterations", "again-and-copies", bytes([0]) + joins + four
        + both(4) + both(4, file=1) + both(1))
    put("iterations", "begins-again", bytes([0]) + joins + both(900) + four)
    put("iterations", "wraps", bytes([0]) + joins + both((1 << 24) - 1)
        + both(0) + both(1) + both(2))
    put("iterations", "far-index", bytes([1]) + b"".join(
        up(2, t, i) for t in range(3) for i in (0,))
        + b"".join(say(2, 0, 0, seg(1, k << 15, 1.0)) for k in range(40)))
    put("iterations", "mismatched", bytes([0]) + joins
        + say(2, 0, 0, seg(1, 9, 1.0)) + say(2, 0, 0, b"abc"))
    put("iterations", "out-of-step", bytes([0]) + joined(2, 1) + joined(3, 1)
        + b"".join(both(t) for t in range(1, 22)) + both(2) + both(70))
    put("iterations", "rounds-without-joins", bytes([2]) + four + both(90)
        + four)
    put("iterations", "repair", bytes([0]) + joins + both(1)
        + say(2, 0, 1, ask(6, 7, probe)) + say(0, 2, 1, ask(8, 7, state))
        + say(0, 2, 1, ask(6, 8, bytes(30))) + say(2, 0, 1, ask(
            6, 9, word(1, 0))) + say(0, 2, 1, ask(6, 9, word(1, 0)))
        + say(2, 0, 1, ask(22, 1, bytes(18))) + both(2))
    put("iterations", "cut", bytes([0]) + joins + both(1, cut=1)
        + say(2, 0, 1, join(2)[:9], cut=1))
    for name, how in (("dlp", 0), ("dlp-late", 4)):
        put("iterations", name, bytes([how]) + dlp(2, 1, 1)
            + dlp(1, 2, 1, 2, 0, 100) + dlp(1, 3, 1, 2, 1, 100) + steps(4)
            + dlp(2, 1, 2, 1, 1, 5) + dlp(2, 1, 10) + dlp(1, 2, 4)
            + dlp(2, 1, 2, 1, 5, 5) + dlp(1, 2, 4) + dlp(2, 1, 2, 1, 5, 5)
            + dlp(2, 1, 6) + steps(3) + say(2, 1, 2, bytes(29)))
    put("iterations", "dlp-straggler", bytes([0]) + dlp(2, 1, 2, 1, 0, 5)
        + dlp(1, 2, 2, 1, 0, 5) + dlp(3, 1, 2, 1, 0, 5) + dlp(
            1, 3, 2, 1, 0, 5) + dlp(3, 1, 2, 1, 0, 5) + steps(3, 1))


def packets():
    frames()
    updates()
    segments()
    several()
    controls()
    streams()
    captures()
    filters()
    dlps()
    switches()
    proved_switches()
    switch_captures()
    control_sessions()
    repairs()
    async_workers()
    iterations()
