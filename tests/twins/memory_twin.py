#!/usr/bin/env python3
"""memory_twin.py CHECK A B [RUNS [FIRST]] - send the same bytes to two servers

Sends what CHECK names to the servers at A (Redis) and B and compares all they
send back, byte for byte; `memory_twin.py list` names the checks.  A random
check has RUNS runs, from seed FIRST; a difference names its seed and shows the
shortest request that still makes one.
"""
import errno
import itertools
import random
import select
import shlex
import socket
import sys
import time

from memory_client import Client, Error, WAIT_S, connect, request

END = b"$9\r\nthe end \x00\r\n"
ASK_END = request("discard") + request("echo", b"the end \x00")

# Requests, a line each, in the words of a shell; ~ is an empty line.
TALKS = {
    "connection": r"""
        ping ; ping hello ; ping '' ; ping a b ; echo x ; echo ; echo a b
        select 0 ; select 1 ; select -1 ; select x ; select '' ; select
        dbsize ; dbsize x ; auth x ; auth a b ; auth default b ; auth ; auth a b c
        client getname ; client setname me ; client getname
        client setname 'a b' ; client setname ; client getname x
        client setname '' ; client getname ; client ; client nonsense
        client nonsense a b ; config ; config nonsense ; config get
        command nonsense ; hello 4 ; hello x ; hello 2 nonsense ; hello 1
        hello 2 setname ; hello 2 auth x ; flushall x ; flushall ; flushall sync
        exec ; discard ; discard x ; exec x ; multi x""",
    "unknown": r"""
        nonsense ; nonsense a b c ; '' ; '' a ; PiNg ; GET ; Get ; get a b
        foo 'a b' "it's" ; 'two words' ; "a\nb" ; ping1 ; pin
        foo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb ccccccccccccccccccccccc d e f""",
    "arity": r"""
        get ; get a b ; set ; set a ; del ; exists ; rpush ; rpush l ; lpush
        lpush l ; lpop ; lpop a 1 2 ; llen ; llen a b ; lrange ; lrange l
        lrange l 0 ; lrange l 0 1 2 ; ltrim l 0 ; ltrim l 0 1 2 ; multi a
        dbsize a b ; echo ; select 0 0 ; command docs x y z nonsense""",
    "strings": r"""
        get a ; set a 1 ; get a ; set a '' ; get a ; set b x ; dbsize
        exists a ; exists a b c ; exists a a a ; del a ; del a ; del a b b c
        dbsize ; set '' empty ; get '' ; exists '' ; del '' ; SET A up ; get a
        GET A ; del A ; set a b nonsense ; set a b c d ; get a""",
    "lists": r"""
        rpush l a ; rpush l b c d ; llen l ; lrange l 0 -1 ; lpush l z y
        lrange l 0 -1 ; lrange l -3 -1 ; lrange l 2 1 ; lrange l -100 100
        lpop l ; lpop l 2 ; lpop l 0 ; lpop none ; lpop none 2 ; lpop none 0
        lpop l -1 ; lpop l x ; lpop l 1.5 ; lpop l 9223372036854775807
        lpop l 100 ; llen l ; exists l ; lrange l 0 -1 ; ltrim l 0 1
        rpush l '' '' ; lrange l 0 -1 ; ltrim l 1 0 ; exists l ; dbsize
        rpush l 1 2 3 ; lrange l x 1 ; lrange l 0 y ; lrange l '' 1
        lrange l 01 2 ; lrange l +1 2 ; lrange l ' 1' 2 ; lrange l 0 1.0
        ltrim l x 1 ; ltrim l 0 9223372036854775808 ; lrange none x y
        lrange l -9223372036854775808 9223372036854775807 ; lrange l -0 1
        lrange l -9223372036854775809 1 ; llen none ; lpop none x
        lpop none -1 ; ltrim none 0 1 ; ltrim none x 1 ; del l""",
    "wrongtype": r"""
        set s x ; rpush l x ; get l ; rpush s x ; lpush s x ; lpop s
        lpop s 1 ; lpop s x ; lpop s -1 ; llen s ; lrange s 0 1 ; lrange s x 1
        ltrim s 0 1 ; ltrim s x 1 ; exists s l ; set l y ; get l ; llen l
        del s l ; dbsize""",
    "multi": r"""
        multi ; set a 1 ; get a ; rpush l x y ; lrange l 0 -1 ; exec ; get a
        multi ; exec ; multi ; discard ; multi ; set a 2 ; discard ; get a
        multi ; multi ; get a ; exec ; exec ; discard
        multi ; nonsense ; get a ; exec ; get a
        multi ; get ; set a 3 ; exec ; get a ; multi ; nonsense ; discard
        multi ; set a 4 ; rpush a x ; get l ; lrange l x 1 ; get a ; exec
        multi ; ping ; echo hi ; dbsize ; exists a l ; del a l ; exec ; dbsize
        multi ; ping a b c ; exec ; multi x ; exec x ; multi ; exec x ; exec
        multi ; select 1 ; select 0 ; flushall ; dbsize ; exec
        multi ; discard x ; set a 5 ; exec ; get a
        multi ; lpop none ; lpop none 1 ; lrange none 0 -1 ; exec""",
    "more": r"""
        rpush l a b c ; lindex l 0 ; lindex l -1 ; lindex l 3 ; lindex l -4
        lindex l x ; lindex none 0 ; lindex none x ; rpop l ; rpop l 2 ; rpop l
        rpop none ; rpop none 1 ; rpop l -1 ; rpop l x ; rpop l 0 ; exists l
        rpushx l a ; lpushx l a ; exists l ; rpush l m ; rpushx l n o ; lpushx l k j
        lrange l 0 -1 ; rpop l 0 ; rpop l 9 1 ; rpushx l ; lpushx ; rpop ; lindex l
        mget a ; mget ; set a 1 ; set b '' ; mget a l b none a ; strlen a
        strlen b ; strlen none ; strlen l ; strlen ; type a ; type l ; type none
        type ; type a b ; unlink a none l ; unlink ; dbsize
        set a 1 nx ; set a 2 nx ; set a 3 xx ; get a ; set n 1 xx ; exists n
        set a 4 get ; set a 5 nx get ; set n 1 xx get ; set n 2 nx get ; get n
        set a 1 nx xx ; set a 1 xx nx ; set a 1 get get ; set a 1 Nx gEt foo
        rpush q x ; set q 1 get ; set q 2 ; get q ; rpush r x ; set r 1 nx get
        set r 1 xx ; get r ; watch a b ; watch ; unwatch ; unwatch x
        watch a ; set a 9 ; multi ; get a ; exec ; watch a ; multi ; watch b ; exec
        watch a ; multi ; get a ; unwatch ; exec ; watch none ; multi ; exec
        watch a ; set a 10 ; unwatch ; multi ; get a ; exec
        watch a ; set a 11 ; discard ; multi ; discard ; multi ; get a ; exec
        watch none ; set none x ; multi ; exec ; watch r ; del r ; multi ; exec
        flushdb ; flushdb x ; dbsize ; reset x ; client setname me ; multi ; reset
        client getname ; exec""",
    "quit": "ping ; quit ; ping", "quit in multi": "multi ; ping ; quit ; exec",
    "apex": r"""
        rpush exp e1 ; rpush exp e2 e3 ; llen exp
        multi ; lrange exp 0 1 ; ltrim exp 2 -1 ; exec ; llen exp
        multi ; lrange exp 0 -1 ; ltrim exp 1 0 ; exec ; llen exp
        set params v1 ; get params ; set params v2 ; get params
        multi ; lrange exp 0 -1 ; ltrim exp -1000 -1 ; exec ; exists exp""",
}

# Bytes that are no request, or hardly; each is the last of its connection.
BAD = {
    "letters for a count": b"*x\r\nping\r\n",
    "no count": b"*\r\n", "a count with a sign": b"*+1\r\n$4\r\nping\r\n",
    "a count with a space": b"* 1\r\n$4\r\nping\r\n",
    "a count with a zero": b"*01\r\n$4\r\nping\r\n",
    "a count of 2^31": b"*2147483648\r\n",
    "a count past 64 bits": b"*99999999999999999999999\r\n",
    "negative zero": b"*-0\r\n", "counts of nothing": b"*0\r\n*-1\r\n*-9\r\n",
    "a plus for a dollar": b"*1\r\n+4\r\nping\r\n",
    "nothing for a dollar": b"*2\r\n$4\r\necho\r\n\r\n",
    "a third argument that is none": b"*3\r\n$3\r\nset\r\n$1\r\na\r\n1\r\n",
    "no length": b"*1\r\n$\r\n\r\n", "a negative length": b"*1\r\n$-1\r\n",
    "letters for a length": b"*1\r\n$four\r\nping\r\n",
    "a length and more": b"*1\r\n$4 \r\nping\r\n",
    "a length past 512 MB": b"*2\r\n$4\r\necho\r\n$536870913\r\n",
    "a length of 2^63": b"*2\r\n$4\r\necho\r\n$9223372036854775808\r\n",
    "no line's end after a bulk": b"*2\r\n$4\r\nechoXX$2\r\nhiYY",
    "one byte for a line's end": b"*2\r$4\r\necho\r$2\r\nhi\r\n",
    "a good one before it": b"*1\r\n$4\r\nping\r\n*1\r\n$x\r\n",
    "an error before it": request("nonsense") + b"*1\r\n$x\r\n",
    "in a transaction": request("multi") + request("get", "a") + b"*x\r\n",
    "an open quote": b"echo \"a\r\n", "an open single quote": b"echo 'a\r\n",
    "a quote that goes on": b"echo \"a\"b\r\n",
    "a single quote that goes on": b"echo 'a'b\r\n",
    "a quote in a word": b"echo a\"b c\"\r\n", "an escape at the end": b"echo \"\\\r\n",
    "an inline of 65537 bytes": b"echo " + b"a" * 65532,
    "a count of 65537 bytes": b"*" + b"1" * 65536,
    "a length of 65537 bytes": b"*1\r\n$" + b"1" * 65536,
}

INLINE = (
    b"ping\r\n", b"ping\n", b"PING \t hi\r\n", b"\r\n", b"\n\n \r\n\t\n",
    b"  set  a   b \r\nget a\r\n", b"set a \"x y\"\r\nget a\r\n",
    b"set a 'x y'\r\nget a\r\n", rb'set a "\x41\n\r\t\a\b\\\"\q\xzz\x4"' + b"\nget a\n",
    rb"set a 'it\'s \n'" + b"\nget a\n", b"set a \"\"\r\nget a\n", b"set '' x\nget ''\n",
    b"echo \xff\x80\x01\n", b"echo a\rb\r\n", b"echo a\r\r\n",
    b"\"ping\"\n", b"'echo' \"hi\"\n", b"echo \x0b\x0c x\n", b"nonsense a 'b c'\n",
    b"*0\r\nping\n*-1\r\nping\n", b"ping\n*1\r\n$4\r\nping\r\nping\n",
    b"+OK\n", b"$3\n", b":1\r\n", b"multi\nget a\nexec\n",
)


def lines(talk):
    """Return the requests of a talk."""
    for line in talk.splitlines():
        for one in line.split(" ; "):
            if one.strip():
                yield request(*shlex.split(one.replace(r"\n", "\n")))


def finish(s):
    try:
        s.shutdown(socket.SHUT_WR)
    except OSError as e:
        assert e.errno == errno.ENOTCONN, e    # the server closed the connection first


def ask(addr, data, closed, cut=None):
    """All that a server answers to these bytes: until it closes, or END.

    With closed, nothing follows the data and our side is shut after it; with
    cut, a function, they are sent in the pieces it makes of them.
    """
    s = connect(addr)
    pieces = iter(cut(data) if cut else (data,))
    left, got, end = b"", bytearray(), time.monotonic() + WAIT_S
    try:
        while closed or not got.endswith(END):
            if not left and pieces:
                left = memoryview(next(pieces, b""))
                if not left:
                    pieces = None
                    if closed:
                        finish(s)
            r, w, _ = select.select([s], [s] if left else [], [],
                                    0 if pieces else end - time.monotonic())
            if w:
                left = left[s.send(left):]
            if r:
                more = s.recv(1 << 20)
                if not more:
                    break
                got += more
            assert time.monotonic() < end, "%s: after %d s there is only %.300r" % (
                addr, WAIT_S, bytes(got))
    except (BrokenPipeError, ConnectionResetError):
        got += b" and cut off"
    finally:
        s.close()
    return bytes(got)


def shown(reply, at=0):
    """Return the readable text of the reply around the position `at`."""
    at = max(at - 100, 0)
    return "%s%r%s" % ("... " * (at > 0), reply[at:at + 300], " ..." * (len(reply) > at + 300))


class Pair:
    """The two servers, and the number of comparisons of each kind."""

    def __init__(self, a, b):
        self.addr, self.done = (a, b), 0

    def clean(self):
        for addr in self.addr:
            with Client(addr) as c:
                assert c.call("flushall") == b"OK"

    def differ(self, data, closed=False, cut=None):
        """Return None, or the two different replies."""
        self.clean()
        self.done += 1
        a, b = (ask(addr, data + (b"" if closed else ASK_END), closed, cut)
                for addr in self.addr)
        return None if a == b else (a, b)

    def same(self, what, data, closed=False, cut=None):
        got = self.differ(data, closed, cut)
        if got is not None:
            at = next((i for i, (a, b) in enumerate(zip(*got)) if a != b), min(map(len, got)))
            raise AssertionError("%s: %s is answered\n  by A with %s\n  by B with %s" % (
                what, shown(data), shown(got[0], at), shown(got[1], at)))

    def shortest(self, what, parts, closed=False):
        """Like same(), for a list of requests; if they differ, find the shortest list that
        still does."""
        if self.differ(b"".join(parts), closed) is None:
            return
        step = (len(parts) + 1) // 2
        while step:
            at = 0
            while at < len(parts):
                fewer = parts[:at] + parts[at + step:]
                if self.differ(b"".join(fewer), closed):
                    parts = fewer
                else:
                    at += step
            step //= 2
        self.same(what, b"".join(parts), closed)


def talks(p):
    for name, talk in TALKS.items():
        p.shortest(name, list(lines(talk)), closed=name.startswith("quit"))


def ranges(p):
    """Compare every pair of indices near the ends of lists of 0, 1, 2 and 5."""
    far = [-2**63, -2**63 + 1, -2**31, 2**31, 2**63 - 1]
    for n in (0, 1, 2, 5):
        fill = request("rpush", "l", *"abcde"[:n]) if n else b""
        parts = [fill]
        for i, j in itertools.product(list(range(-n - 2, n + 3)) + far, repeat=2):
            parts += [request("lrange", "l", i, j), request("ltrim", "l", i, j),
                      request("lrange", "l", 0, -1), request("del", "l"), fill]
        for i in list(range(-2, n + 3)) + far:
            parts += [request("lpop", "l", i), request("lrange", "l", 0, -1),
                      request("del", "l"), fill]
        p.shortest("indices of a list of %d" % n, parts)


def bad(p):
    for name, data in BAD.items():
        p.same(name, data, closed=True)


def inline(p):
    for data in INLINE:
        p.same("inline", data)
    limit = b"echo " + b"a" * (65536 - 5)
    for most in (limit[:-2] + b"\r\n", limit[:-1] + b"\n"):
        p.same("inline of 64 KiB", most)


def bulks(p):
    """Compare values of every size at which a reader could behave differently."""
    for n in (0, 1, 2, 4095, 4096, 4097, 16383, 16384, 32767, 32768, 65535, 65536, 65537,
              1 << 20, (1 << 24) + 1):
        value = random.Random(n).randbytes(n)
        p.same("bulk of %d" % n, b"".join((
            request("set", "k", value), request("get", "k"), request("rpush", "l", value, "x", value),
            request("lrange", "l", 0, -1), request("echo", value), request("lpop", "l", 2))))


def pipelined(p):
    """Compare thousands of requests at once, and as many arguments in one request."""
    many = [request("set", "k%d" % (i % 100), i) + request("rpush", "l", i) for i in range(5000)]
    p.same("10000 requests", b"".join(many) + request("lrange", "l", 0, -1) +
           b"".join(request("get", "k%d" % i) for i in range(100)))
    p.same("100000 arguments", request("rpush", "l", *range(100000)) + request("llen", "l") +
           request("lrange", "l", 99990, -1) + request("exists", *["l"] * 100000))
    p.same("10000 in a transaction", request("multi") +
           request("rpush", "l", "x") * 10000 + request("exec"))


def bytewise(p):
    """Compare requests sent byte by byte, and cut in two at every place."""
    data = b"".join(lines(TALKS["multi"] + " ; " + TALKS["lists"]))
    p.same("a byte at a time", data, cut=lambda d: (d[i:i + 1] for i in range(len(d))))
    data = request("set", "a", b"\r\n$1\r\n*") + b"get a\r\necho 'x y'\n" + request("get", "a")
    for at in range(1, len(data)):
        p.same("cut at %d" % at, data, cut=lambda d, i=at: (d[:i], d[i:]))
    for name, bad_ in BAD.items():
        if len(bad_) > 100 or name.startswith("HTTP"):
            continue
        # no byte may follow the one at which Redis closes, or a reset can discard its reply
        most = [n for n in range(len(bad_)) if b"Protocol error" in ask(p.addr[0], bad_[:n], True)]
        p.same(name + ", a byte at a time", bad_[:(most + [len(bad_)])[0]], closed=True,
               cut=lambda d: (d[i:i + 1] for i in range(len(d))))


def number(r):
    return r.choice((r.randrange(-7, 8), r.randrange(-7, 8), 0, -1, r.randrange(-300, 300),
                     r.choice((2**63 - 1, -2**63, 2**63, "x", "", "1.5", "-0", "007"))))


def value(r):
    kind = r.random()
    if kind < 0.5:
        return str(r.randrange(1000))
    if kind < 0.9:
        return r.randbytes(r.randrange(12))
    return r.randbytes(r.choice((4095, 4096, 5000, 20000)))


def anything(r):
    """Return a request as a user could send it; most requests are valid."""
    key = r.choice(("a", "b", "l", "m", "l", "m", ""))
    words = {
        "ping": (), "echo": (value(r),), "get": (key,),
        "set": [key, value(r)] + r.choices(("nx", "xx", "get", "NX", "foo"), k=r.choice((0, 0, 0, 1, 2))), "llen": (key,),
        "del": r.choices("ablm", k=r.randrange(1, 4)), "exists": r.choices("ablm", k=r.randrange(1, 5)),
        "rpush": [key] + [value(r) for _ in range(r.randrange(1, 6))],
        "lpush": [key] + [value(r) for _ in range(r.randrange(1, 6))],
        "lpop": (key,) if r.random() < .5 else (key, number(r)),
        "lrange": (key, number(r), number(r)), "ltrim": (key, number(r), number(r)),
        "multi": (), "exec": (), "discard": (), "dbsize": (), "select": (r.choice((0, 0, 1)),),
        "nonsense": [value(r)[:20] for _ in range(r.randrange(3))], "flushall": (), "lindex": (key, number(r)),
        "rpop": (key,) if r.random() < .5 else (key, number(r)), "rpushx": (key, value(r)), "lpushx": (key, value(r)),
        "mget": r.choices("ablm", k=r.randrange(1, 5)), "strlen": (key,), "type": (key,), "unlink": (key,),
        "watch": (key,), "unwatch": (), "reset": (),
    }
    weight = {"rpush": 6, "lrange": 5, "set": 4, "get": 4, "ltrim": 3, "multi": 2, "exec": 4, "lpop": 3,
              "flushall": .2, "nonsense": .5, "ping": .5, "select": .3,
              "reset": .2}
    name = r.choices(list(words), [weight.get(w, 1) for w in words])[0]
    args = list(words[name])
    if r.random() < 0.03:
        args = args[:-1] if r.random() < .5 else args + ["x"]
    return request("".join(r.choice((c, c.upper())) for c in name) if r.random() < .2 else name, *args)


def chance(p, seed):
    r = random.Random(seed)
    p.shortest("seed %d" % seed, [anything(r) for _ in range(60)])


def chopped(p, seed):
    r = random.Random(seed)
    data = b"".join(anything(r) for _ in range(40))

    def cut(d):
        at = 0
        while at < len(d):
            n = r.choice((1, 2, 3, 10, 100, 1000, 5000))
            yield d[at:at + n]
            at += n

    p.same("seed %d, in pieces" % seed, data, cut=cut)


def damaged(p, seed):
    """Compare valid requests with a few damaged bytes, all in one packet."""
    r = random.Random(seed)
    parts = [request(*w) for w in (("set", "a", "12345"), ("get", "a"), ("rpush", "l", "x", ""),
                                   ("lrange", "l", "0", "-1"))]
    parts += [b"echo \"a b\"\r\n", b"set 'a' b\n", b"ping\r\n"]
    d = bytearray(b"".join(r.sample(parts, 5)))
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(d))
        d[at:at + r.randrange(2)] = r.choice((b"", b"", b"0", b"1", b"3", b"-", b"$", b"*", b"\r", b"\n", b" ",
                                              b"\"", b"'", b"\\", b"x", b"\r\n", b"+"))
    p.same("seed %d, damaged" % seed, bytes(d), closed=True)


def hello(p):
    """Compare the fields of HELLO; their values may differ."""
    for words in (("hello",), ("hello", 2), ("hello", 2, "setname", "me")):
        fields = []
        for addr in p.addr:
            with Client(addr) as c:
                got = c.call(*words)
                fields.append(got[::2] + [got[got.index(w) + 1] for w in (b"proto", b"mode", b"role", b"modules")])
                p.done += 1
        assert fields[0] == fields[1], fields


def password(p):
    """Compare the servers when both require the password `secret`."""
    talk = r"""
        ping ; get a ; set a b ; nonsense ; get ; multi ; exec ; client getname ; config get x
        auth wrong ; auth default wrong ; auth nobody secret ; auth ; auth a b c ; ping
        auth secret ; ping ; set a b ; get a ; auth wrong ; get a ; auth default secret ; get a
        client getname ; flushall"""
    data = b"".join(lines(talk))
    cases = {
        "what needs a password": data, "inline": b"ping\r\nauth secret\r\nping\r\n",
        "eleven words": b"*11\r\n", "a long word": b"*2\r\n$4\r\nping\r\n$16385\r\n",
        "ten words": request(*["ping"] * 10) + request("ping", "x" * 16384),
        "hello": request("hello", 2) + request("hello", 2, "auth", "default", "wrong") + request("ping"),
        "what nobody knows": request("nonsense", "a") + request("lrange", "x"),
    }
    for name, bytes_ in cases.items():
        a, b = (ask(addr, bytes_, True) for addr in p.addr)
        p.done += 1
        assert a == b, "%s:\n  %s\n  %s" % (name, shown(a), shown(b))
        assert b"-NOAUTH" in a or b"unauthenticated" in a or name == "what nobody knows", shown(a)
    for addr in p.addr:
        with Client(addr) as c:
            assert c.call("hello", 2, "auth", "default", "secret")[0] == b"server"
            assert c.call("ping") == b"PONG"


def library(p):
    """Compare the same calls through redis-py."""
    import redis

    def connection(addr):
        host, colon, port = addr.rpartition(":")
        return redis.Redis(unix_socket_path=addr) if not colon else redis.Redis(host, int(port))

    def calls(r):
        r.flushall()
        yield r.ping(), r.echo("hi"), r.get("none"), r.set("a", b"\x00\xff"), r.get("a"), r["a"]
        yield r.exists("a", "a", "b"), r.delete("a", "b"), r.dbsize(), "a" in r
        yield r.rpush("l", *range(10)), r.llen("l"), r.lrange("l", 2, -3), r.lpop("l"), r.lpop("l", 3)
        yield r.ltrim("l", 1, 2), r.lrange("l", 0, -1), r.lpush("l", "x")
        with r.pipeline(transaction=True) as t:
            yield t.lrange("l", 0, -1).ltrim("l", -1, -1).set("p", "v" * 100000).get("p").execute()
        with r.pipeline(transaction=False) as t:
            yield t.rpush("l", 1).get("l").llen("l").execute(raise_on_error=False)[::2]
        with r.pipeline(transaction=True) as t:
            try:
                t.set("a", 1).get("l").set("b", 2).execute()
            except redis.ResponseError as e:
                yield str(e), r.get("a"), r.get("b")
        try:
            r.lrange("a", 0, 1)
        except redis.ResponseError as e:
            yield str(e)
        try:
            r.execute_command("NONSENSE", "a")
        except redis.ResponseError as e:
            yield str(e)
        other = redis.Redis(connection_pool=r.connection_pool)
        with r.pipeline() as t:
            t.watch("a")
            other.set("a", "theirs")
            t.multi()
            t.set("a", "ours")
            try:
                yield t.execute()
            except redis.WatchError:
                yield "they were first", r.get("a")
        yield r.transaction(lambda t: t.set("b", (t.get("a") or b"") + b"!"), "a"), r.get("b")
        yield r.client_setname("me"), r.client_getname(), type(r.client_id())
        yield type(r.info()["used_memory"]), type(r.info("server")["redis_version"])
        yield list(r.config_get("maxmemory")), type(r.command_count()), r.flushall(), r.dbsize()

    a, b = (list(calls(connection(addr))) for addr in p.addr)
    p.done += sum(map(len, a))
    assert a == b, [(x, y) for x, y in zip(a, b) if x != y]


def apex(p):
    """Actors that push, a learner that takes all there is and sets parameters."""
    import redis

    def exchange(addr):
        host, colon, port = addr.rpartition(":")
        def connection():
            return redis.Redis(unix_socket_path=addr) if not colon else redis.Redis(host, int(port))

        actors, learner, seen = [connection() for _ in range(4)], connection(), []
        learner.flushall()
        for turn in range(50):
            for n, actor in enumerate(actors):
                actor.rpush("experience", *(b"%d-%d-%d-" % (turn, n, i) * 500 for i in range(10)))
                version = actor.get("params")
                assert (version is None) == (turn == 0)
                assert version is None or version == b"%d " % (turn - 1) * 100000
            with learner.pipeline(transaction=True) as t:
                got, trimmed = t.lrange("experience", 0, -1).ltrim("experience", 40, -1).execute()
            seen += [(len(got), trimmed, hash(b"".join(got)))]
            learner.set("params", b"%d " % turn * 100000)
        assert learner.llen("experience") == 0
        return seen

    a, b = map(exchange, p.addr)
    p.done += len(a)
    assert a == b and a[0][0] == 40


CHECKS = {f.__name__: f for f in (talks, ranges, bad, inline, bulks, pipelined, bytewise, hello, password,
                                  library, apex)}
RANDOM = {f.__name__: f for f in (chance, chopped, damaged)}


def main(argv):
    if argv[1:] == ["list"]:
        print(*CHECKS, *RANDOM)
        return 0
    what, p = argv[1], Pair(*argv[2:4])
    runs, first = (list(map(int, argv[4:])) + [100, 1][len(argv) - 4:])[:2]
    try:
        if what in CHECKS:
            CHECKS[what](p)
        else:
            for seed in range(first, first + runs):
                RANDOM[what](p, seed)
    except (AssertionError, EOFError, Error) as e:
        print("%s: %s: %s" % (what, type(e).__name__, e), file=sys.stderr)
        return 1
    print("%s: %d compared" % (what, p.done))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
