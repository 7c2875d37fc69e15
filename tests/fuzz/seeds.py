#!/usr/bin/env python3
"""seeds.py - write the seed corpora of the fuzz targets into corpus/

Each file is small, and its name says what it shows.  Run this again (python3 -B)
after a layout changes; other files in corpus/ (findings that were fixed) stay.
packet_seeds.py and path_seeds.py make packets, and openings_seeds.py makes
sessions.  This file makes the files that tools read, settings, requests and
replies.
"""
import json
import struct

from corpus_file import put
from openings_seeds import channels, openings
from packet_seeds import packets
from path_seeds import paths


def answers():
    members = b'{"job":1,"h":4,"follows":true,"open":true,"halted":false,' \
        b'"iteration":12,"members":[{"id":0,"worker":1,"address":' \
        b'"127.0.0.1","port":40001,"type":"worker","parent":"",' \
        b'"last_heard_ms":12,"missing":3}]}'
    stats = b'{"job":1,"program":"iswitch","counters":{"added":123,' \
        b'"switch_added":1,"switch_foreign":2},"gauges":{"filling":-2}}'
    put("ctl", "members", b"\0" + members)
    put("ctl", "stats", b"\1" + stats)
    put("ctl", "members-as-stats", b"\1" + members)
    put("ctl", "jobs", b'\2{"program":"dlp","jobs":[{"job":1,"kind":"session",'
        b'"open":true,"n":null},{"job":2},7,[]]}')
    put("ctl", "jobs-of-no-word", b'\2{"program":"\x9b2J","jobs":[]}')
    put("ctl", "jobs-ragged", b'\2{"jobs":[7,{"a\\u001b":1}]}')
    put("ctl", "blanks", b"\0 { \"members\" : [ 7 , [ ] , { } ]\r\n}\t")
    put("ctl", "names", b'\1{"counters":{"a b":1,"a-b":2,"":3,"\\u001b":4}}')
    put("ctl", "numbers", b'\1{"counters":{"a":1e999,"b":1e300,"c":-0,'
        b'"d":9007199254740993,"e":0.5,"f":"1","g":null}}')
    put("ctl", "label", b'\1{"program":"\\n\\"\\\\","counters":{"a":1}}')
    put("ctl", "backslash-ends", b'\1{"a":"\\\\","b":" // ","counters":{}}')
    put("ctl", "gauges-array", b'\1{"counters":{},"gauges":[1]}')
    put("ctl", "newline-in-name", b'\1{"counters":{"a\nb":1}}')
    put("ctl", "behind", b"\1" + stats + b"more")
    put("ctl", "zero-behind", b"\1" + stats + b"\0")
    put("ctl", "cut", b"\1" + stats[:-2])
    put("ctl", "deep", b"\0" + b"[" * 2000)
    put("ctl", "empty", b"\0")


def numbers():
    for i, s in enumerate([
            "0", "18446744073709551615", "18446744073709551616", "40G",
            "20Mbit", "9036B", "40.02kB", "4KiB", "100ms", "1.5us", "0.5ns",
            "2min", "20000000h", "-1", "+2s", "0x10", "1e300", "nan", "10%",
            "101%", "1.", ".5", "0.4999999999999999999999", "1024", "1000",
            "1Gibit", "-0.5e-3", ""]):
        put("num", "%02d-%s" % (i, "".join(
            c if c.isalnum() or c in ".+-" else "_" for c in s)),
            bytes([i % 7]) + s.encode())


def stores():
    def cluster(c, elements, n, version=1):
        ranges = (elements - 1) // n + 1
        return struct.pack("<HHII", c, 0, elements, n) \
            + struct.pack("<IId", version, 5, 20.0) * ranges \
            + struct.pack("<%df" % (4 * elements), *range(4 * elements))
    put("store", "empty", b"")
    put("store", "two-clusters", cluster(1, 4, 4) + cluster(9, 5, 2))
    put("store", "cluster-twice", cluster(1, 4, 4) * 2)
    put("store", "cut", cluster(1, 4, 4)[:-3])
    put("store", "no-elements", struct.pack("<HHII", 1, 0, 0, 0))
    put("store", "huge", struct.pack("<HHII", 1, 0, 1 << 28, 1))
    put("store", "not-finite", cluster(1, 1, 1)[:-4] + b"\0\0\x80\x7f")


def policies():
    """Write policies as innet-agent saves them, with hidden layers of 1 or 2."""
    def policy(n, weight=.5, kind=4, rest=b"", **hello):
        text = json.dumps(dict(version=1, elements=n, **hello)).encode()
        return (struct.pack("<4sHHIfQII", b"INET", 1, 0, len(text), 0, 0, 0, 0)
                + text +
                struct.pack("<4sHHIfQII", b"INET", kind, 0, n, 0, 0, 0, 0) +
                struct.pack("<f", weight) * n + rest)

    one = dict(env="cartpole", hidden=1)
    put("saved", "a2c", policy(20, algo="a2c", **one))
    put("saved", "ppo-numbers", policy(17, algo="ppo", env="pendulum",
                                       hidden=1))
    put("saved", "dqn-dueling", policy(13, algo="dqn", dueling=1, **one))
    put("saved", "ddpg-two", policy(36, algo="ddpg", env="pendulum",
                                    hidden=2))
    dqn = dict(one, algo="dqn", dueling=0)
    put("saved", "dqn-rest", policy(11, rest=b"INET", **dqn))
    put("saved", "short", policy(11, **dqn)[:-3])
    put("saved", "one-less", policy(10, **dqn))
    put("saved", "infinite", policy(11, float("inf"), **dqn))
    put("saved", "a-gradient", policy(11, kind=2, **dqn))
    put("saved", "wide", policy(11, **dict(dqn, hidden=4096)))
    put("saved", "no-width", policy(11, **dict(dqn, hidden=-1)))
    put("saved", "huge", policy(11, **dict(dqn, hidden=1e300)))
    put("saved", "unfit", policy(11, **dict(dqn, env="pendulum")))
    put("saved", "stranger", policy(11, **dict(dqn, env="go")))
    put("saved", "numbers-for-names", policy(11, env=1, algo=[]))


def ports():
    """Write rules, one a line: see tests/fuzz/ports.c."""
    for name, rules in {
            "host": "10.0.0.7:rate=20Mbit,slots=5,queue=olaf",
            "host-and-port": "127.0.0.1:9:rate=1k\n127.0.0.1:8:slots=3",
            "prefixes": "10.0.0.0/8:rate=8\n10.1.1.1:rate=32\n"
                        "10.1.0.0/16:queue=fifo\n0.0.0.0/0:slots=1\n"
                        "10.1.1.0/25:rate=25",
            "ipv6": "fd00::1:rate=3\n[fd00::1]:rate=3\n[fd00::1]:7:rate=3"
                    "\nfd00::/15:slots=2\n::/0:rate=1",
            "twice": "10.0.0.7:rate=1,rate=2\n10.0.0.7:rate=3",
            "sixty-five": "\n".join("10.0.0.%d:rate=1" % i
                                    for i in range(65)),
            "forms": "\n10.0.0.7\n:rate=1\nrate=1\n10.0.0.7:rate\n"
                     "10.0.0.7:rate=1,\n10.0.0.7:,rate=1\n=\n:=\n/:=",
            "lengths": "1" * 200 + ":rate=1\n10.0.0.7:rate=" + "0" * 200 +
                       "\n10.0.0.0/33:rate=1\nfd00::/129:rate=1\n"
                       "10.0.0.0/-1:rate=1",
            "numbers": "10.0.0.7:rate=0\n10.0.0.7:slots=16777217\n"
                       "10.0.0.7:slots=16777216\n10.0.0.7:rate=1e15\n"
                       "10.0.0.7:rate=1P\n10.0.0.7:queue=lifo",
    }.items():
        put("ports", name, rules.encode())


def bounded():
    """Write settings of a network and its switches: see tests/fuzz/bounded.c."""
    def network(name, seed, workers, racks, slots, root, segs, goal=3, window=0,
                run=8, loss=0, twice=0, late=0, run_loss=0, full=0, pause=0,
                packet=10, delay=300, think=2, skew=0, restarts=0):
        put("bounded", name, struct.pack(
            ">H17BH3B", seed, workers - 1, racks, slots - 4, root - 4,
            segs - 1, seed & 1, goal - 1, seed & 3, window, run - 1, loss,
            twice, late, run_loss, full, pause, packet, delay, think, skew,
            restarts))

    network("one-slot", 1, 2, 0, 4, 4, 30)
    network("quiet", 2, 4, 2, 16, 16, 40)
    network("root-smaller", 3, 4, 2, 60, 4, 40, loss=30)
    network("root-larger", 4, 4, 2, 4, 60, 40, loss=30, twice=60)
    network("late", 5, 5, 0, 20, 6, 50, late=250, delay=30000)
    network("late-racks", 6, 4, 2, 50, 5, 34, late=200, delay=30000)
    network("lossy", 7, 3, 1, 8, 12, 60, loss=250, run_loss=200, full=200)
    network("restarts", 8, 3, 0, 9, 9, 50, restarts=2, delay=5000)
    network("restarts-racks", 9, 4, 2, 9, 20, 50, restarts=1, loss=60)
    network("window", 10, 2, 2, 30, 30, 60, window=3, run=1, skew=100)


def trees():
    """Write leaves, alpha, and operations on them: see tests/fuzz/tree.c."""
    def put_tree(name, leaves, alpha, *ops):
        put("tree", name, struct.pack(">HB", leaves - 1, alpha) + b"".join(ops))

    def row(n, start, weight, priority):
        return struct.pack(">BBH", 1, n, start) + struct.pack(
            ">HH", weight, priority) * n

    def some(*triples):
        return struct.pack(">BBH", 0, len(triples), 0) + b"".join(
            struct.pack(">HHH", *t) for t in triples)

    check, draws, strata = b"\4\0", b"\3\100", b"\10\100"
    one = 140 << 8 | 1
    put_tree("one-leaf", 1, 10, row(1, 0, 1, one), check, draws)
    put_tree("empty", 17, 6, check, draws, strata)
    put_tree("wrap", 1000, 6, row(250, 900, 7, one), check, strata)
    put_tree("duplicates", 20, 5,
             some((3, 7, one), (3, 11, one + 9), (3, 0, 0)), check, draws)
    put_tree("greatest", 257, 10, row(255, 0, 1, one), row(255, 200, 1, one),
             check, draws)
    put_tree("sparse", 5000, 0, some((4999, 1, one), (0, 6, one)), check,
             strata)
    put_tree("scaled", 300, 10, row(200, 0, 1023, one), b"\2\172", check,
             b"\2\210", check)
    put_tree("follows", 100, 40, row(100, 0, 3, 1), strata,
             row(100, 0, 3, 255 << 8 | 1), check, row(99, 0, 3, one), check)


def replies():
    """Write the size of pieces, the part of a body to take, and a reply."""
    for name, take, said in (
            ("every-kind", 1, b"+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nb\0"
             b"\r\n$0\r\n\r\n$-1\r\n*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n*-1\r\n"),
            ("sample", 255, b"*4\r\n*2\r\n:1\r\n:4294967298\r\n*2\r\n$3\r\n0.5"
             b"\r\n$4\r\n0.25\r\n*1\r\n$1\r\n1\r\n*1\r\n$44\r\n" +
             bytes(range(44)) + b"\r\n"),
            ("endless", 0, b"*2147483647\r\n*2147483647\r\n$536870912\r\nx"),
            ("too-long", 0, b"+" + b"x" * 17000 + b"\r\n"),
            ("bulk-longer", 9, b"$1\r\nab\r\n"),
            ("not-resp", 0, b"HTTP/1.1 400 Bad Request\r\n\r\n")):
        put("respreply", name, bytes([2, take]) + said)


def checkpoints():
    """The records of cmd/innet-memory/store/save.h."""
    def counted(b):
        return struct.pack("<Q", len(b)) + b

    def string(key, version, value):
        return b"S" + counted(key) + struct.pack("<Q", version) + counted(value)

    def item(i, p=1.0, times=0, frames=(), tail=b"tail"):
        return (struct.pack("<QfI", i, p, times) +
                struct.pack("<%dI" % len(frames), *frames) + counted(tail))

    def table(items, capacity=4, alpha=0.6, pick=0, times=0, lo=0.0, hi=0.0,
              slack=4, size=0, stack=0, frames=(), inserted=None, evicted=0,
              head=2, newest=1, highest=2.0, name=b"replay", n=None):
        have = len(items) if n is None else n
        return (b"T" + counted(name) +
                struct.pack("<QdIIddQQI", capacity, alpha, pick, times, lo,
                            hi, slack, size, stack) +
                struct.pack("<7QIIf", have + evicted if inserted is None
                            else inserted, 3, 2, 1, evicted, 0, 0, head,
                            newest, highest) +
                struct.pack("<I", len(frames)) + b"".join(frames) +
                struct.pack("<Q", have) + b"".join(items))

    one, two = item(1 << 32), item(1 << 32 | 1, 2.0, 7, tail=b"")
    pair = [b"aaa", b"bbb"]
    framed = [item(1 << 32, frames=(0, 1)), item(1 << 32 | 1, frames=(1, 1))]
    for name, data in (
            ("nothing", b""), ("clock", b"V" + bytes(8)),
            ("strings", string(b"a", 1, b"x") + string(b"", 2, b"y" * 300)),
            ("refused", string(b"abc", 1, b"x")),
            ("list", b"L" + counted(b"l") + struct.pack("<QQ", 5, 2) +
             counted(b"x") + counted(b"")),
            ("list-too-long", b"L" + counted(b"l") + bytes(8) + b"\xff" * 8),
            ("huge-key", b"S" + b"\xff" * 8), ("unknown-record", b"X"),
            ("table", table([one, two])), ("table-empty", table([], head=0)),
            ("uniform", table([one, two], pick=1)),
            ("fifo-worn", table([one], pick=2, times=3)),
            ("lifo", table([one, two], pick=3)),
            ("frames", table(framed, size=3, stack=1, frames=pair)),
            ("frames-unused", table(framed[1:], size=3, stack=1, frames=pair)),
            ("frames-missing", table(framed, size=3, stack=1,
                                     frames=pair[:1])),
            ("frames-undeclared", table([one], frames=pair)),
            ("frames-huge", table([], size=1 << 62, stack=1)),
            ("stack-huge", table([], size=1, stack=1 << 31)),
            ("twice", table([one, one])), ("slot-5", table([item(5)])),
            ("counters", table([one], inserted=9)),
            ("over-full", table([one, two], capacity=1)),
            ("capacity-0", table([], capacity=0)),
            ("capacity-huge", table([], capacity=1 << 31)),
            ("head-9", table([], head=9)), ("nameless", table([], name=b"")),
            ("alpha-nan", table([], alpha=float("nan"))),
            ("limits-crossed", table([], lo=2.0, hi=1.0)),
            ("priority-nan", table([item(1 << 32, float("nan"))])),
            ("priority-high", table([item(1 << 32, 3.0)])),
            ("items-cut", table([one], n=2)), ("selector-4", table([], pick=4)),
            ("two-tables", table([one]) + table([two], name=b"b"))):
        put("checkpoint", name, data)

    def restored(name, data, room=7, pieces=254):
        put("restore", name, bytes([room, pieces]) + data[15:])

    far = item(1 << 32 | 149999, 1e-30, tail=b"")
    restored("table", table([one, two]))
    restored("table-in-bytes", table([one, two]), pieces=0)
    restored("uniform", table([one, two], pick=1, times=9))
    restored("fifo", table([one], pick=2, times=3))
    restored("lifo", table([one, two], pick=3) + struct.pack("<3I", 2, 1, 1))
    restored("holes", table([two], pick=3, inserted=1) +
             struct.pack("<4I", 3, 5, 1, 4))
    restored("frames", table(framed, size=3, stack=1, frames=pair))
    restored("far-apart", table([one, far], capacity=150000))
    restored("far-apart-uniform", table([one, far], capacity=150000, pick=1))
    restored("far-apart-twice", table([one, far, far], capacity=150000))
    restored("no-room", table([one, far], capacity=150000), room=4)
    restored("capacity-huge", table([], capacity=1 << 31))
    restored("tail-of-a-lie", table([one], n=2) +
             struct.pack("<QfIQ", 1 << 32 | 1, 1, 0, 1 << 33), pieces=255)
    restored("frames-of-a-lie", table([], size=1, stack=1)[:-12] +
             struct.pack("<I", 1 << 28), pieces=255)
    restored("frame-of-a-lie", table([], size=1 << 28, stack=1)[:-12] +
             struct.pack("<I", 1), pieces=255)


def specs():
    cluster = {"id": 1, "period": "100ms", "offset": ["0", "100ms"]}
    good = {"service_time": "2ms", "slots": 1, "horizon": "1s",
            "clusters": [cluster]}
    control = {"v": "fair", "threshold": "400ms"}
    full = dict(cluster, jitter="5ms", control=control)

    def spec(name, **kw):
        put("spec", name, json.dumps(dict(good, **kw)).encode())

    def one(name, **kw):
        spec(name, clusters=[dict(full, **kw)])

    spec("good")
    spec("full", ack_delay="10ms", clusters=[full, dict(cluster, id=0)])
    spec("unknown-key", slot=1)
    spec("no-clusters", clusters=[])
    spec("twins", clusters=[cluster, cluster])
    spec("many", clusters=[dict(cluster, id=i) for i in range(65)])
    spec("too-many-updates", horizon="24h")
    spec("no-update", clusters=[dict(cluster, offset="1s")])
    spec("overflow", horizon="18446744073709551616s")
    one("backwards", offset=["2s", "1s"])
    one("negative", offset="-1s")
    one("three-offsets", offset=["1s", "1s", "1s"])
    one("jitter", jitter="100ms")
    one("no-threshold", control={"v": "urgent"})
    one("types", id="x", period=[], control=1)
    put("spec", "cut", json.dumps(good).encode()[:-9])
    put("spec", "deep", b"[" * 2000)
    put("spec", "nul", b"{}\0{}")


def scenario(**more):
    s = {"switches": [{"name": "sw", "slots": 4}],
         "servers": [{"name": "ps"}],
         "links": [{"from": "sw", "to": "ps", "rate": "1M"}],
         "workers": [{"at": "sw", "clusters": 2, "workers": 3,
                      "interval": "20us"}]}
    for path, v in more.items():
        if isinstance(s.get(path), list):
            s[path][0].update(v)
        else:
            s[path] = v
    return json.dumps(s).encode()


def formats():
    """Formats in JSON and as options; frames of strangers; tables of times."""
    def tcp(seq, data, flags=0x18, port=4000):
        l4 = struct.pack(">HHIIBBHHH", port, 5556, seq & 0xffffffff, 0, 0x50,
                         flags, 0, 0, 0) + data
        return ip(6, l4)

    def ip(proto, l4):
        head = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(l4), 0, 0, 64,
                           proto, 0, 0x0a000001, 0x0a000002)
        total = sum(struct.unpack(">10H", head))
        total = (total & 0xffff) + (total >> 16)
        head = head[:10] + struct.pack(">H", ~total & 0xffff) + head[12:]
        return bytes(12) + b"\x08\0" + head + l4

    def packets(*frames, cut=0):
        return b"".join(struct.pack(">HB", len(f), cut) + f for f in frames)

    m = struct.pack(">HHQ", 12, 1, 7)
    line = b"one\r\ntwo\r\r\n\n"
    for name, data in (
            ("json", b'{"name":"a","cluster":{"at":0,"type":"u16"},'
             b'"worker":{"field":"ip.src","table":{"10.0.0.1":1}},'
             b'"generated":{"at":8,"type":"le-f64","unit":"s",'
             b'"epoch":"ntp"},"length":{"at":0,"type":"u16","add":4}}'),
            ("json-match", b'{"match":{"from":1,"to":9},"delimiter":"\\n"}'),
            ("json-file", b'{"cluster":{"field":"ip.src","table":"t.csv"}}'),
            ("option", b"generated=u64@8,us,ntp"), ("option-none", b"a=b"),
            ("udp", packets(ip(17, struct.pack(">HHHH", 1, 2, 8 + 24, 0) +
                               m * 2))),
            ("udp-cut", packets(ip(17, struct.pack(">HHHH", 1, 2, 28, 0) +
                                   m), cut=8)),
            ("tcp", packets(tcp(9, b"", 2), tcp(10, m[:5]),
                            tcp(15, m[5:] + m))),
            ("tcp-again", packets(tcp(10, m), tcp(10, m), tcp(16, m))),
            ("tcp-holes", packets(tcp(9, b"", 2), *[
                tcp(20 + 24 * i, m) for i in range(70)])),
            ("tcp-wraps", packets(tcp(0xfffffff8, m), tcp(4, m))),
            ("tcp-lines", packets(tcp(9, line), tcp(9 + len(line), line))),
            ("tcp-cut", packets(tcp(9, m), tcp(21, m, port=4001), cut=30))):
        put("format", name, data)
    head = b"cluster,worker,generated_ns,received_ns"
    for name, data in (
            ("good", head + b"\n1,2,3,4\n1,10.0.0.1,5,\n"),
            ("quoted", b'"cluster","generated_s","received_s","a"\r\n'
             b'7,"1.5","2.000000001","x, ""y"""\r\n'),
            ("again", head + b",worker\n"), ("short", head + b"\n1,2\n"),
            ("word", head + b"\na/b,c d,1,2\n"),
            ("late", head + b"\n1,1,18446744073709551616,1\n"),
            ("open-quote", head + b'\n1,"2'), ("zero", head + b"\n1\0,2,3,4"),
            ("merged", head + b",merged,sequence,reward\n1,1,1,1,0,1,1e9\n")):
        put("table", name, data)


def scenarios():
    put("scenario", "plain", scenario())
    put("scenario", "every-section", scenario(
        name="x", seed=7, runs=2, duration="1ms", drain=True, start="1s",
        ages_from="first", wire_overhead=True,
        faults=[{"link": "sw", "from": "10us", "to": "20us"},
                {"switch": "sw", "index": 0, "from": "15us", "to": "1s"}],
        sweep={"links[0].rate": ["1M", 2000000],
               "switches[*].queue": ["olaf", "fifo", "regular"],
               "workers[0].at": ["sw"]}))
    put("scenario", "access", scenario(
        workers={"access_rate": "10M", "access_propagation": "1us",
                 "access_loss": "10%", "access_queue": 1, "shared": True,
                 "access_capture": True,
                 "control": "urgent", "threshold": "0"}))
    put("scenario", "vectors-of-packets", scenario(
        workers={"elements": 200, "frame": "100B", "count": 3,
                 "phase": "order", "window": "5us", "arrivals": "bursts"}))
    put("scenario", "waits", scenario(
        servers={"delay": "1us", "gate": "ema", "gate_ema": 0.5},
        workers={"wait": "30us", "control": "fair", "count": 4}))
    put("scenario", "traffic", scenario(
        traffic=[{"at": "sw", "rate": "100M", "frame": "100B"},
                 {"name": "x", "at": "sw", "rate": "1G", "frame": "42B",
                  "arrivals": "onoff", "start": "5us", "stop": "50us"}],
        faults=[{"link": "sw", "from": "20us", "to": "30us"}]))
    put("scenario", "tree", json.dumps({
        "switches": [{"name": "tor", "count": 4}, {"name": "core"}],
        "servers": [{"name": "ps", "reply": "worker", "delay": "1us"}],
        "links": [{"from": "tor", "to": "core", "propagation": "1us"},
                  {"from": "core", "to": "ps", "loss": 0.5}],
        "workers": [{"at": "tor", "clusters": "3-6", "workers": 2,
                     "interval": "10us", "arrivals": "poisson"}]}).encode())
    put("scenario", "trainings", json.dumps({"trainings": [
        {"approach": a, "mode": m, "vector": "4kB", "payload": "1000B",
         "iterations": 2, "compute": "100us", "compute_shape": "lognormal",
         "rack": 2, "workers": 5, "loss": loss, "packet": "1us",
         "message": "2us", "copy_rate": "1G"}
        for a, m, loss in (("switch", "sync", 0.1), ("switch", "async", 0.1),
                           ("ps", "sync", 0.1), ("ps", "async", 0),
                           ("ring", "sync", 0))],
        "sweep": {"trainings[*].speeds": ["0", "90%"]}}).encode())
    put("scenario", "dlp", json.dumps({"trainings": [
        {"program": "dlp", "name": how, "reduce": how, "straggler": "2ms",
         "workers": 3, "iterations": 4, "compute": "1ms", "loss": 0.1,
         "compute_shape": "exponential"} for how in ("mean", "median")],
        "faults": [{"link": "worker", "index": 1, "from": "1ms",
                    "to": "3ms"}]}).encode())
    put("scenario", "training-faults", json.dumps({"trainings": [
        {"approach": a, "mode": m, "vector": "4kB", "payload": "1000B",
         "iterations": 3, "compute": "100us", "rack": 2, "workers": 4,
         "name": a + m, "give_up": "none"}
        for a, m in (("switch", "sync"), ("ps", "sync"), ("ps", "async"))],
        "faults": [
            {"link": "worker", "from": "50us", "to": "150us"},
            {"link": "server", "training": "pssync", "from": "0",
             "to": "300us"},
            {"switch": "switch", "from": "120us", "to": "130us"},
            {"switch": "rack", "index": 1, "from": "125us",
             "to": "1ms"}]}).encode())
    put("scenario", "training-and-network", scenario(trainings=[{}]))
    put("scenario", "circle", scenario(links={"to": "sw"}))
    put("scenario", "unknown-key", scenario(links={"rat": 1}))
    put("scenario", "no-unit", scenario(duration="10"))
    put("scenario", "given-twice",
        scenario().replace(b'"slots": 4', b'"slots": 4, "slots": 5'))
    put("scenario", "huge", scenario(workers={"workers": 1e300}))
    put("scenario", "sweep-of-nothing", scenario(sweep={"links[0].rate": []}))
    put("scenario", "path-astray", scenario(sweep={"links[9].rate": [1]}))


def resp_requests():
    def req(*words):
        words = [w if isinstance(w, bytes) else str(w).encode()
                 for w in words]
        return b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w) for w in words)

    def many(text):
        return b"".join(req(*t.split()) for t in text.split(";"))

    big = b"x" * 5000
    for name, data in {
            "strings": many("SET a 1;GET a;GETV a 0;GETV a 1;MGET a b;"
                            "STRLEN a;EXISTS a b;TYPE a;SET a 2 XX GET;DEL a"),
            "lists": many("RPUSH l a b c;LPUSH l d;LRANGE l 0 -1;LINDEX l 1;"
                          "LTRIM l 1 2;LPOP l;RPOP l 2;LLEN l;RPUSHX l 1"),
            "big-bulks": req("RPUSH", "l", big, "1", big) +
            req("LRANGE", "l", 0, -1) + req("SET", "k", big) + req("GET", "k"),
            "resp3": many("HELLO 3;GET a;MGET a b;CONFIG GET save;COMMAND INFO get;"
                          "CLIENT LIST;PER.CREATE t CAPACITY 2;PER.ADD t 1 a;PER.INFO t;"
                          "PER.SAMPLE t 1 SUM;PER.DUMP t;WATCH t;PER.LIST;BLPOP l 0;"
                          "COMMAND DOCS set;RESET;GET a"),
            "counters": many("INCR a;INCRBY a 5;DECR a;DECRBY a x;INCRBYFLOAT a 1.5;"
                             "MSET a 1 b 2;MSETNX a 1 c 2;GETDEL a;GETSET b 3;SETNX d 1"),
            "moves": many("RPUSH l a b a;LSET l 0 x;LREM l -1 a;LMOVE l m LEFT RIGHT;"
                          "RPOPLPUSH m l;BLPOP l m 0;BRPOP l 0;BLMOVE l m LEFT LEFT 0;"
                          "BRPOPLPUSH m l 0;BLPOP l x;LREM l 0 b"),
            "keys": many("SET abc 1;KEYS a*;KEYS [a-c]?[^d];KEYS *\\\\c;SCAN 0 COUNT 1;"
                         "SCAN 1 MATCH a* TYPE string;RENAME abc d;RENAMENX d e;TYPE e;"
                         "PER.CREATE t CAPACITY 2;RENAME t u;SCAN 0 TYPE innet-per;DEL u"),
            "times": many("SET a 1 EX 100;TTL a;PTTL a;PERSIST a;EXPIRE a 10 GT;PEXPIREAT "
                          "a 1;EXPIRETIME a;SETEX a 10 b;PSETEX a 10 b;EXPIRE a -1;DBSIZE"),
            "kill": many("CLIENT KILL TYPE normal;CLIENT KILL ID 1 SKIPME yes;CLIENT KILL "
                         "LADDR x ADDR y USER default;CLIENT KILL here"),
            "multi": many("MULTI;SET a 1;GET a;RPUSH a 1;EXEC;WATCH a;SET a 2;"
                          "MULTI;GET a;EXEC;MULTI;NOSUCH;EXEC;MULTI;DISCARD"),
            "multi-big": req("MULTI") + req("SET", "k", big) + req("GET", "k")
            + req("EXEC"),
            "connection": many("PING;PING x;ECHO y;HELLO;HELLO 3;SELECT 0;"
                               "SELECT 1;AUTH x;CLIENT SETNAME a;CLIENT ID;"
                               "CLIENT GETNAME;CLIENT LIST;RESET;QUIT"),
            "server": many("COMMAND COUNT;COMMAND DOCS get;COMMAND INFO set;"
                           "CONFIG GET *;CONFIG SET maxmemory 2mb;INFO all;"
                           "CONFIG RESETSTAT;DBSIZE;FLUSHALL;CLIENT HELP"),
            "nested": many("MULTI;COMMAND DOCS client;COMMAND DOCS;EXEC;PING"),
            "http-put": b"PUT / HTTP/1.1\r\n\r\nSET a 1\r\nGET a\r\n",
            "http-get": b"GET / HTTP/1.1\r\n\r\nSET a 1\r\nGET a\r\n",
            "mget-in-slices": req("SET", "k", big) +
            req("MGET", *["k", "none"] * 300) + many("MULTI;PING;EXEC"),
            "wrong": many("NOSUCH a b;GET;SET a 1 EX 5;RPUSH l 1;GET l;"
                          "LRANGE l x y;LPOP l -1;CLIENT NOSUCH;SHUTDOWN x"),
            "tables": many("PER.CREATE t CAPACITY 4 ALPHA 1;PER.ADD t 1 a 2 b max c"
                           ";PER.SAMPLE t 2 BETA 0.4 STRATIFIED;PER.INFO t;"
                           "PER.UPDATE t 4294967296 3;PER.DUMP t FROM 0 COUNT 2;"
                           "PER.REMOVE t 4294967297;PER.ADD t 0 d 1 e;"
                           "PER.SAMPLE t 1 BINARY;PER.DROP t"),
            "tables-selectors": many(
                "PER.CREATE u CAPACITY 3 SELECTOR uniform TIMES 1;PER.ADD u 1 a;"
                "PER.SAMPLE u 1;PER.CREATE f CAPACITY 2 SELECTOR fifo;PER.ADD f "
                "1 a 1 b 1 c;PER.SAMPLE f 2;PER.CREATE l CAPACITY 2 SELECTOR "
                "lifo;PER.ADD l 1 a;PER.SAMPLE l 1 TIMEOUT 0;FLUSHALL"),
            "tables-limits": many(
                "PER.CREATE t CAPACITY 4 RATIO 1 2 SLACK 2;PER.ADD t 1 a 1 b;"
                "PER.ADD t 1 c;PER.SAMPLE t 2;PER.SAMPLE t 2;PER.SAMPLE t 2;"
                "PER.LIMIT t RATIO 0 0;MULTI;PER.ADD t TIMEOUT 9 1 c;EXEC"),
            "tables-frames": many("PER.CREATE f CAPACITY 3;PER.FRAMES f 2 1;"
                                  "PER.ADD f 1 aabbtail;PER.SAMPLE f 1 REFS") +
            req("PER.ADD", "f", "FRAMES", 2, "aa", "cc", 1, b"\0\0\1\0x", 2,
                b"\1\0\1\0y") + many("PER.SAMPLE f 2 BINARY REFS;PER.INFO f"),
            "tables-packed": many("PER.CREATE t CAPACITY 2;PER.ADD t 1 a") +
            req("PER.UPDATE", "t", "BINARY", struct.pack("<Q", 1 << 32),
                struct.pack("<f", 0.5)) +
            req("PER.REMOVE", "t", "BINARY", struct.pack("<Q", 1 << 32)),
            "tables-wrong": many("PER.ADD none 1 a;PER.CREATE t CAPACITY 0;"
                                 "PER.CREATE t CAPACITY 2 ALPHA nan;PER.SAVE;"
                                 "PER.CREATE t CAPACITY 2;PER.ADD t nan a;"
                                 "PER.SAMPLE t 1;PER.UPDATE t x 1;PER.LOAD;"
                                 "PER.ADD t FRAMES 9 a;PER.DUMP t FROM"),
            "per": many("PER.CREATE t capacity 4 ratio 0 3;"
                        "PER.ADD t 1 a 2.5 b max c;PER.SAMPLE t 2 beta 1 "
                        "stratified timeout 9;PER.UPDATE t 4294967296 0 7 1;"
                        "PER.DUMP t count 2;PER.INFO t;PER.REMOVE t 4294967297;"
                        "PER.LIMIT t ratio 1 2 slack 3;PER.SAMPLE t 9;"
                        "PER.DROP t;PER.SAVE;PER.LOAD"),
            "per-frames": many("PER.CREATE t capacity 2 selector lifo times 2;"
                               "PER.FRAMES t 2 2;PER.ADD t 1 aabbbbccT 1 "
                               "bbccccdd;PER.SAMPLE t 2;PER.SAMPLE t 1 refs") +
            req("PER.ADD", "t", "frames", 2, "dd", "ee", "max",
                b"\0\0\0\0\1\0\1\0tail") +
            many("PER.SAMPLE t 1 refs binary;PER.INFO t;FLUSHALL") +
            req("PER.UPDATE", "t", "binary", bytes(8), bytes(4)),
            "inline": b"SET a 'b c'\r\nGET a\nECHO \"\\x41\\n\"\r\n\r\nPING\r\n",
            "inline-unbalanced": b"ECHO 'a\r\n",
            "bad-length": b"*1\r\n$x\r\n",
            "bad-count": b"*9999999\r\n",
            "no-dollar": b"*1\r\nPING\r\n",
            "http": b"POST / HTTP/1.1\r\n",
    }.items():
        put("resp", name, b"\3" + data)
        if name in ("lists", "big-bulks", "multi-big"):
            put("resp", name + "-by-the-byte", b"\0" + data)
    put("resp", "memory-full", b"\x0e" + b"".join(
        req("RPUSH", "l", b"y" * 20000) for _ in range(8)) +
        req("LLEN", "l"))
    put("resp", "memory-full-in-one", b"\x0e" + req(
        "RPUSH", "l", *[b"y" * 9000] * 15) + req("LLEN", "l"))
    put("resp", "output-full-of-text", b"\x03" + req("COMMAND") * 30)
    put("resp", "output-full", b"\x07" + req("SET", "a", b"z" * 9000) +
        req("GET", "a") * 40)


if __name__ == "__main__":
    packets()
    paths()
    answers()
    numbers()
    stores()
    policies()
    ports()
    trees()
    bounded()
    openings()
    channels()
    replies()
    checkpoints()
    specs()
    formats()
    scenarios()
    resp_requests()
