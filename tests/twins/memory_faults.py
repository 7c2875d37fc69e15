#!/usr/bin/env python3
"""memory_faults.py CHECK [RUNS [FIRST]] - test faults of innet-memory

Each check starts servers of its own, from $PATH, in the folder it is run in;
`memory_faults.py list` names them.  No time is measured: what must go on is
counted, and what must come has WAIT_S seconds.
"""
import os
import random
import resource
import select
import socket
import struct
import sys

from memory_client import Error, connect, request
from memory_server import Server, info, main, until

MB = 1 << 20


def vanish(s):
    """Close with a reset, which is what the server sees of a host that lost its cable."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def push(s, data):
    """Send as much of the data as possible without waiting, and return the number of bytes."""
    s.setblocking(False)
    sent = 0
    try:
        while sent < len(data):
            sent += s.send(data[sent:sent + MB])
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        pass
    return sent


def stuck(server, r, k):
    """Open the k-th faulty client.  Return its socket, or None if it has already gone."""
    kind = k % 7
    s = connect(server.addr, room=0 if kind != 2 else 4096)
    half = {
        0: b"*3\r\n$3\r\nse",
        1: b"*3\r\n$3\r\nset\r\n$4\r\nhalf\r\n$1000000\r\n" + r.randbytes(r.randrange(900000)),
        2: request("lrange", "large", 0, -1),
        3: b"*3\r\n$3\r\nset\r\n$4\r\nhalf\r\n$9000000\r\n" + r.randbytes(r.randrange(100000)),
        4: request("multi") + request("set", "half", "x" * 1000) * 20,
        5: request("get", "large") + b"echo \"no end",
        6: b"*1000000\r\n$1\r\n",
    }[kind]
    push(s, half)
    if kind == 3:
        vanish(s)
        return None
    return s


def clients(runs=100, first=1):
    """Slow, stuck and vanishing clients do not stop another client from being served."""
    r = random.Random(first)
    with Server("--memory", "400MB") as server, server.client() as good:
        for _ in range(100):
            good.call("rpush", "large", r.randbytes(MB))
        before, bad = info(good, "used_memory"), []
        for k in range(runs):
            bad.append(stuck(server, r, k))
            for i in range(20):
                value = r.randbytes(r.randrange(10000))
                assert good.call("set", "k%d" % i, value) == b"OK"
                assert good.call("get", "k%d" % i) == value
            for s in bad:
                if s is not None and r.random() < .1:
                    push(s, b"\r\n" if r.random() < .1 else b"a")
        assert good.call("exists", "half") == 0
        assert good.call("llen", "large") == 100
        got = good.call("lrange", "large", 0, -1)
        assert len(got) == 100 and set(map(len, got)) == {MB}
        for s in bad:
            if s is not None:
                vanish(s)
        until(lambda: info(good, "connected_clients") == 1, "the end of the others")
        for i in range(20):
            good.call("del", "k%d" % i)
        until(lambda: info(good, "used_memory") <= before + 256000, "the memory they held (%d before)" % before)
        return "%d good requests beside %d bad clients" % (40 * runs, runs)


def unread():
    """Unread replies share the stored value and need no extra memory."""
    with Server("--memory", "200MB") as server, server.client() as good:
        for _ in range(100):
            good.call("rpush", "large", b"x" * MB)
        before = server.memory()
        readers = [connect(server.addr, room=4096) for _ in range(50)]
        for s in readers:
            s.sendall(request("lrange", "large", 0, -1))
        for i in range(1000):
            assert good.call("echo", i) == b"%d" % i
        more = server.memory() - before
        assert more < 50 * MB, "50 unread replies of 100 MB take %d MB more" % (more / MB)
        assert good.call("del", "large") == 1
        for i in range(1000):
            assert good.call("echo", i) == b"%d" % i
        # one of them reads after all: it gets everything, although the list was deleted
        for s in readers[1:]:
            vanish(s)
        got = bytearray()
        want = b"*100\r\n" + (b"$1048576\r\n" + b"x" * MB + b"\r\n") * 100
        while len(got) < len(want):
            more = readers[0].recv(MB)
            assert more, "cut off after %d of %d" % (len(got), len(want))
            got += more
        assert got == want
        until(lambda: info(good, "used_memory") < MB, "the memory of a list that is gone")


def spent():
    """The server frees replies that were read, even if the client sends no further request."""
    with Server("--memory", "200MB") as server, server.client() as good:
        for _ in range(100):
            good.call("rpush", "small", *[b"x" * 500] * 1000)
        before = info(good, "used_memory")
        readers = [server.client() for _ in range(4)]
        for c in readers:
            assert len(c.call("lrange", "small", 0, -1)) == 100000
        until(lambda: info(good, "used_memory") < before + MB, "the memory of what was read")


def greedy():
    """Clients that send requests forever and read nothing do not stop others, and memory stays
    bounded."""
    with Server("--memory", "64MB", "--touch", "0") as server, server.client() as good:
        before, held = server.memory(), []
        good.call("set", "k", "v")
        for _ in range(10):
            held.append(hoard(server, 100 * MB))
            for _ in range(100):
                assert good.call("get", "k") == b"v"
        grown = server.memory() - before
        assert grown < 64 * MB + beside(server), "10 clients made it grow by %d MB" % (grown / MB)
        for s in held:
            vanish(s)
        until(lambda: info(good, "used_memory") < MB, "the memory they held")
        assert good.call("set", "k", b"x" * (32 * MB)) == b"OK"


def hoard(server, size):
    """Request replies of `size` bytes in total, as far as the server allows, and read none of
    them."""
    s = connect(server.addr, room=4096)
    s.setblocking(False)
    one, sent = request("echo", b"x" * 60000) * 16, 0
    try:
        while sent < size and select.select([], [s], [], 0.2)[1]:
            sent += s.send(one[sent % len(one):])
    except (BrokenPipeError, ConnectionResetError):
        pass
    return s


def hoarder():
    """One client that reads nothing leaves room for the values that others store."""
    with Server("--memory", "64MB", "--touch", "0") as server, server.client() as good:
        s = hoard(server, 50 * MB)
        assert good.call("set", "k", b"x" * (8 * MB)) == b"OK"
        s.close()


def full(words):
    """Return whether a request was refused for lack of memory; raise any other error."""
    c, *rest = words
    try:
        c.call(*rest)
    except Error as e:
        assert str(e).startswith("OOM "), e
        return str(e)
    return None


def beside(server):
    """Return the number of bytes that the server may use in addition to stored values: the
    program, buffers and the allocator, and with AddressSanitizer the bytes around and after
    each block."""
    return (600 if server.sanitized() else 24) * MB


def limit():
    """At the limit, values, lists and small keys get -OOM, and no stored value is lost."""
    for what, size in (("set", MB), ("set", 60000), ("set", 1), ("rpush", MB), ("rpush", 1), ("set", 3 * MB)):
        with Server("--memory", "32MB", "--touch", "0") as server, server.client() as c:
            n, text = 0, None
            while text is None:
                batch = 1 if size > 1000 else 500
                got = c.pipeline([(what, "k%d" % (n + i) if what == "set" else "l", b"%0*d" % (size, n + i))
                                  for i in range(batch)])
                bad = [g for g in got if isinstance(g, Error)]
                n += batch - len(bad)
                text = str(bad[0]) if bad else None
                assert n * size < 33 * MB, "%d of %d bytes were taken" % (n, size)
            assert text.startswith("OOM command not allowed when used memory > 'maxmemory'."), text
            assert n * (size + 200) > 16 * MB, "full with %d of %d bytes" % (n, size)
            used = server.memory("VmHWM")
            assert used < 32 * MB + beside(server), "%s of %d bytes: %d MB in memory" % (what, size, used / MB)
            if what == "set":
                for i in range(0, n, max(1, n // 1000)):
                    assert c.call("get", "k%d" % i) == b"%0*d" % (size, i), i
                assert c.call("dbsize") == n
                assert c.call("get", "k%d" % n) is None
                assert full((c, "set", "k0", b"x" * (20 * MB)))
                assert c.call("get", "k0") == b"%0*d" % (size, 0)
                c.pipeline([("del", "k%d" % i) for i in range(n // 2)])
            else:
                assert c.call("llen", "l") == n
                assert c.call("lrange", "l", n - 1, -1) == [b"%0*d" % (size, n - 1)]
                c.call("ltrim", "l", n // 2, -1)
            assert c.call(what, "again", b"x" * 10000)
            server.alive()


def queued():
    """Requests queued in MULTI and half-received arguments count against the limit, too."""
    with Server("--memory", "64MB", "--touch", "0") as server, server.client() as c, server.client() as good:
        good.call("set", "kept", "x" * MB)
        c.call("multi")
        refused = [g for g in c.pipeline([("set", "k", b"x" * MB)] * 200) if isinstance(g, Error)]
        assert refused and all(str(g).startswith("OOM ") for g in refused), refused[:1]
        assert c.error("exec").startswith("EXECABORT")
        held = [connect(server.addr) for _ in range(50)]
        for s in held:
            s.setblocking(True)
            s.sendall(b"*3\r\n$3\r\nset\r\n$1\r\nh\r\n$50000000\r\n")
            push(s, b"x" * (5 * MB))
        for i in range(1000):
            assert good.call("echo", i) == b"%d" % i
        assert good.call("get", "kept") == b"x" * MB
        used = server.memory("VmHWM")
        assert used < 64 * MB + beside(server), "%d MB in memory" % (used / MB)
        for s in held:
            vanish(s)
        until(lambda: info(good, "used_memory") < 3 * MB, "the memory of half bulks")
        good.call("set", "k", b"x" * (32 * MB))
        # a value larger than the whole limit is refused; the connection is then closed or
        # continues
        with server.client() as big:
            big.send(b"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$200000000\r\n")
            sent = 0
            while sent < 200000000 and not select.select([big.sock], [], [], 0)[0]:
                sent += big.sock.send(b"y" * min(MB, 200000000 - sent))
            assert sent < 200000000 or big.sock.send(b"\r\n") == 2
            assert str(big.reply()).startswith("OOM ")
        assert good.call("get", "k") == b"x" * (32 * MB)
        assert server.memory("VmHWM") < 64 * MB + beside(server)


def crowd():
    """One client more than the limit gets Redis's error text, and the others stay."""
    with Server("--max-clients", 10) as server:
        first = [server.client() for _ in range(10)]
        for c in first:
            assert c.call("ping") == b"PONG"
        for _ in range(20):
            s = connect(server.addr)
            got = b""
            while more := s.recv(1000):
                got += more
            assert got == b"-ERR max number of clients reached\r\n", got
            s.close()
        for c in first:
            assert c.call("ping") == b"PONG"
        first.pop().close()
        until(lambda: info(first[0], "connected_clients") == 9, "the end of one")
        server.alive()


def left():
    """A client that leaves too many bytes unread for too long is disconnected."""
    with Server("--output-limit", "1MB", "--stuck-timeout", "100ms") as server, server.client() as c:
        c.call("rpush", "large", *[b"x" * 100000] * 200)
        bad = [connect(server.addr, room=4096) for _ in range(20)]
        for s in bad:
            s.sendall(request("lrange", "large", 0, -1))
        until(lambda: info(c, "connected_clients") == 1, "the end of those that do not read")
        # a client that reads gets all of its reply, however slowly it reads
        assert len(c.call("lrange", "large", 0, -1)) == 200
        for s in bad:
            s.close()


def halted():
    """A client that stops within a request or reads nothing takes no memory from the others."""
    with Server("--memory", "50MB", "--touch", "0", "--stuck-timeout", "300ms") as server, server.client() as c:
        for _ in range(35):
            c.call("rpush", "small", *[b"x" * 500] * 1000)
        before = info(c, "used_memory")
        begun = [
            b"*4\r\n$5\r\nrpush\r\n$1\r\nk\r\n$10000000\r\n" + bytes(10000000) + b"\r\n",
            b"*4\r\n$5\r\nrpush\r\n$1\r\nk\r\n$10000000\r\n" + bytes(10000000),
            b"*9000\r\n$5\r\nrpush\r\n$1\r\nk\r\n" + (b"$1000\r\n" + bytes(1000) + b"\r\n") * 3000,
            request("lrange", "small", 0, -1),
        ]
        for what in begun:
            with connect(server.addr, room=4096) as s:
                s.sendall(what)
                until(lambda: info(c, "connected_clients") == 2, "one more client")
                until(lambda: info(c, "connected_clients") == 1, "the end of %r..." % what[:40])
        until(lambda: info(c, "used_memory") < before + MB, "the memory they held")
        left = c.call("info", "stats").decode().split()
        assert "clients_left_stuck:3" in left and "clients_left_output:1" in left, left


def browser():
    """No command in the body of an HTTP request is executed, for any method, also without
    Host."""
    with Server() as server, server.client() as c:
        for method in b"PUT", b"OPTIONS", b"POST", b"GET", b"DELETE":
            with connect(server.addr) as s:
                s.sendall(method + b" / HTTP/1.1\r\n\r\nset stolen 1\r\n")
                got = s.makefile("rb").read()
            assert got == b"-DENIED this is not an HTTP server\r\n", got
        assert c.call("exists", "stolen") == 0
        server.alive()


def locked(*options):
    """Start a server with a password, and connect a client that has sent it."""
    with open("password", "w") as f:
        f.write("secret\n")
    os.chmod("password", 0o600)
    server = Server("--password-file", "password", *options)
    c = server.client()
    assert c.call("auth", "secret") == b"OK"
    return server, c


def strangers():
    """Clients without the password take neither connections nor memory from clients that have
    sent it."""
    server, c = locked("--max-clients", 50, "--memory", "8MB", "--touch", 0, "--auth-timeout", "1h")
    with server, c:
        # 200 silent clients, 50 of which get a place
        silent = [connect(server.addr) for _ in range(200)]
        until(lambda: info(c, "clients_left_auth") == 151, "the end of the first ones")
        with server.client() as other:
            assert other.call("auth", "secret") == b"OK" and other.call("ping") == b"PONG"
        for s in silent:
            s.close()
        until(lambda: info(c, "connected_clients") == 1, "the end of all")
        # requests that never end (8 arguments of 16 kB, long lines), and replies that are not
        # read
        for part in (b"*10\r\n" + (b"$16000\r\n" + bytes(16000) + b"\r\n") * 8, b"x" * 16000, b"ping\r\n" * 3000,
                     b"*10\r\n" + (b"$4000\r\n" + bytes(4000) + b"\r\n") * 9):
            many = [connect(server.addr, room=4096) for _ in range(49)]
            for s in many:
                push(s, part)
            assert c.call("set", "k", bytes(6000000)) == b"OK", "there is memory"
            assert info(c, "used_memory") < 6000000 + MB + 100000, info(c, "used_memory")
            assert c.call("del", "k") == 1
            for s in many:
                s.close()
            until(lambda: info(c, "connected_clients") == 1, "the end of all")
        assert c.call("ping") == b"PONG"
    server, c = locked("--auth-timeout", "300ms")
    with server, c:
        # the time counts from the connection, also for a client that continues to send
        silent, talks, known = connect(server.addr), connect(server.addr), server.client()
        assert known.call("auth", "secret") == b"OK"
        talks.setblocking(False)
        for s in silent, talks:
            def ended():
                try:
                    if s is talks:
                        s.send(b"x")
                    else:
                        s.setblocking(False)
                    return s.recv(100) == b""
                except BlockingIOError:
                    return False
                except ConnectionError:
                    return True
            until(ended, "the end of one without the password")
        assert info(c, "clients_left_auth") == 2
        assert known.call("ping") == b"PONG"
        # a client that gives up its rights gets the full time again
        assert known.call("reset") == b"RESET"
        until(lambda: info(c, "clients_left_auth") == 3, "the end of the third")


def guesses():
    """A connection has five guesses, each slower; the right password works meanwhile."""
    server, c = locked()
    with server, c:
        words = [b"auth word%d\r\n" % i for i in range(100000)]
        with connect(server.addr) as s:
            push(s, b"".join(words))
            s.settimeout(60)
            with server.client() as other:
                assert other.call("auth", "secret") == b"OK"
            got = b""
            try:
                while more := s.recv(10000):
                    got += more
            except ConnectionError:
                pass
        assert got == b"-WRONGPASS invalid username-password pair or user is disabled.\r\n" * 5, got
        assert info(c, "auth_failures") == 5
        # a client that sends other requests all the time is disconnected as well
        with connect(server.addr) as s:
            push(s, b"ping\r\n" * 1000)
            s.settimeout(60)
            try:
                while s.recv(10000):
                    pass
            except ConnectionError:
                pass
        assert info(c, "clients_left_auth") == 2
        with server.client() as other:      # one or two wrong passwords have no consequences
            for _ in range(2):
                assert other.error("auth", "wrong").startswith("WRONGPASS")
            assert other.call("auth", "secret") == b"OK"
            for _ in range(10):
                assert other.error("auth", "wrong").startswith("WRONGPASS")
            assert other.call("ping") == b"PONG"


def patterns():
    """Requests with long patterns and long names are answered, and no other client waits for
    long."""
    with Server() as server, server.client() as c:
        for i in range(200):
            c.call("set", "a" * 30000 + str(i), "v")
        for pattern, n in (("*" + "a" * 15000 + "b*", 0), ("*" + "a" * 15000 + "1*", 111), ("*a" * 10000 + "*b*", 0),
                           ("*" + "[a-c]" * 900 + "b*", 0), ("*" + "?" * 1000 + "a7", 1), ("*" + "a?" * 500 + "b*", 0)):
            assert len(c.call("keys", pattern)) == n, pattern[:20]
            cursor, found = c.call("scan", 0, "match", pattern, "count", 1000)
            assert cursor == b"0" and len(found) == n, pattern[:20]
        assert c.error("keys", "*" + "?a" * 600 + "*").startswith("ERR a pattern has at most 1024 characters")
        assert c.error("scan", 0, "match", "x" * 70000) == "ERR a pattern has at most 65536 bytes"
        server.alive()


def mget():
    """A reply of 1 TB takes as much memory as its request, and shows all values at one
    moment."""
    with Server("--memory", "200MB", "--touch", 0, "--output-limit", "1GB") as server, server.client() as c:
        c.call("set", "k", bytes(MB))
        c.call("set", "small", "s" * 100)
        before = info(c, "used_memory")
        c.call("config", "resetstat")
        with connect(server.addr, room=4096) as s:
            s.sendall(request("mget", *["k"] * 1000000))
            until(lambda: info(c, "total_net_output_bytes") > 10000, "the first values")
            assert info(c, "used_memory_peak") - before < 60 * MB, info(c, "used_memory_peak")
        until(lambda: info(c, "connected_clients") == 1, "the end of the other")
        used = info(c, "used_memory") - before
        assert used < MB, used
        # values, including missing ones, a list and small ones, and the next request
        c.call("rpush", "list", "x")
        names = ["k", "small", "none", "list"] * 100
        c.call("config", "resetstat")
        with server.client(room=65536) as other:
            other.send(request("mget", *names) + request("ping") + request("mget", *names[:8]))
            until(lambda: info(c, "total_net_output_bytes") > 100000, "the first values")
            assert c.call("set", "k", "new") == b"OK"
            assert c.call("del", "small") == 1
            assert other.reply() == [bytes(MB), b"s" * 100, None, None] * 100
            assert other.reply() == b"PONG"
            assert other.reply() == [b"new", None, None, None] * 2
            other.send(request("multi") + request("mget", *names) + request("exec"))
            assert [other.reply() for _ in range(2)] == [b"OK", b"QUEUED"]
            assert other.reply() == [[b"new", None, None, None] * 100]
        server.alive()


def replies():
    """A transaction whose replies need more memory than there is ends its client alone."""
    with Server("--memory", "50MB", "--touch", 0) as server, server.client() as c:
        c.call("rpush", "l", *["x" * 100] * 10000)
        before = server.memory("VmHWM")
        with server.client() as greedy:
            greedy.send(request("multi") + request("lrange", "l", 0, -1) * 500 + request("exec"))
            until(lambda: info(c, "clients_left_memory") == 1, "the end of the greedy one")
        assert server.sanitized() or server.memory("VmHWM") - before < 120 * MB, server.memory("VmHWM") - before
        assert c.call("set", "k", "x" * 10000000) == b"OK"
        server.alive()


def descriptors():
    """With few file descriptors, further clients get an error, and no client hangs or keeps the
    CPU busy."""
    few = ("sh", "-c", 'ulimit -n 60; exec "$@"', "sh")
    with Server(prefix=few) as server, server.client(wait=10) as c:
        most = int(c.call("config", "get", "maxclients")[1])
        assert 20 <= most < 60, most
        assert "--max-clients is lowered to %d, because only 60 files may" % most in server.said()
        many = [connect(server.addr, wait=10) for _ in range(70)]
        told = 0
        for s in many:
            s.sendall(request("ping"))
        for s in many:
            got = s.makefile("rb").readline()
            assert got in (b"+PONG\r\n", b"-ERR max number of clients reached\r\n"), got
            told += got[:1] == b"-"
        assert told == 70 - (most - 1), told
        for s in many:
            s.close()
        until(lambda: info(c, "connected_clients") == 1, "the end of the others")
        # fewer than the server expects, because the limit is lowered while it runs
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (18, 18))
        many = [connect(server.addr, wait=10) for _ in range(30)]
        for s in many:
            try:
                s.sendall(request("ping"))
                got = s.makefile("rb").readline()
            except ConnectionError:
                got = b""
            told += got[:1] == b"-"
            assert got in (b"+PONG\r\n", b"-ERR max number of clients reached\r\n", b""), got
        for s in many:
            s.close()
        until(lambda: info(c, "connected_clients") == 1, "the end of these, too")
        server.alive()


def turns():
    """Between two long requests that were sent at once, the server serves other clients."""
    with Server("--memory", "2GB") as server, server.client() as c, server.client() as other:
        c.call("per.create", "t", "capacity", 1000, "selector", "uniform", "alpha", 1)
        c.call("per.add", "t", *[1, "x"] * 1000)
        c.call("per.create", "u", "capacity", 200000)
        for _ in range(20):
            c.call("per.add", "u", *[1, "x"] * 10000)

        def seen():
            """Return how many of 20 samples were complete at each request of another client."""
            out = set()
            other.call("config", "resetstat")
            with server.client() as many:
                many.send(request("per.sample", "u", 100000, "binary") * 20)
                many.sock.setblocking(False)
                while 20 not in out:
                    for line in other.call("info", "commandstats").split():
                        if line.startswith(b"cmdstat_per.sample:calls="):
                            out.add(int(line.partition(b"=")[2].partition(b",")[0]))
                    try:
                        many.sock.recv(1 << 24)
                    except BlockingIOError:
                        pass
            return out - {0, 20}
        # in pairs there would be at most 10; the client can also be slow for other reasons
        tries = []
        while len(tries) < 50 and max(tries, default=0) < 13:
            tries.append(len(seen()))
        assert tries[-1] >= 13, "seen between 20 samples: %s" % tries
        server.alive()


def slices():
    """Large values are freed in slices: others are served between them, and a request that
    needs memory gets it."""
    with Server("--memory", "60MB", "--touch", "0") as server, server.client() as c:
        def table():
            c.call("per.create", "t", "capacity", 100000)
            for _ in range(10):
                c.call("per.add", "t", *[1, "x"] * 10000)

        def frames():
            c.call("per.create", "t", "capacity", 10000)
            c.call("per.frames", "t", 4, 4)
            c.call("per.add", "t", *[w for i in range(10000) for w in (1, b"%032d" % i)])

        def rows():
            c.call("rpush", "t", *["x"] * 100000)

        def keys():
            c.call("mset", *[w for i in range(100000) for w in ("key%d" % i, "x")])

        empty = info(c, "used_memory")
        for make in (table, frames, rows, keys):
            for kill in (("flushall",), ("del", "t"), ("unlink", "t"), ("pexpire", "t", 0), ("ltrim", "t", 1, 0),
                         ("per.drop", "t"), ("set", "t", "x"), ("rename", "u", "t")):
                if (make == keys and kill != ("flushall",)) or (kill[0][:3] == "per" and make == rows) or (
                        kill[0] == "ltrim" and make != rows):
                    continue
                make()
                c.call("set", "u", "x")
                c.call("config", "resetstat")
                # in one request: the second part is answered before all memory is freed
                c.send(request(*kill) + request("info", "memory") + request("dbsize"))
                c.reply()
                said = dict(line.split(":") for line in c.reply().decode().split("\r\n") if ":" in line)
                assert int(said["lazyfree_pending_objects"]) >= 1, (make, kill, said)
                assert int(said["lazyfree_most"]) <= 256, (make, kill, said)
                assert c.reply() <= 2
                until(lambda: info(c, "lazyfree_pending_objects") == 0, "the end of what %s removed" % kill[0])
                assert 256 <= info(c, "lazyfree_most") <= 4096, "%s: %d things in a turn" % (
                    kill[0], info(c, "lazyfree_most"))
                c.call("del", "t", "u")
                assert info(c, "used_memory") <= empty + 256000, (make, kill, info(c, "used_memory") - empty)
        # the server frees the memory for a request that needs it: a value, many arguments, a
        # table
        for need in (("set", "u", b"x" * 50000000), ("rpush", "u", *["x"] * 500000),
                     ("per.create", "u", "capacity", 1500000)):
            while True:
                try:
                    c.call("rpush", "t", *["x" * 40] * 10000)
                except Error as e:
                    assert str(e).startswith("OOM"), e
                    break
            c.send(request("del", "t") + request(*need))
            assert c.reply() == 1
            assert c.reply() in (b"OK", 500000)
            c.call("flushall")
        server.alive()


def halves(runs=300, first=1):
    """A value is the old one or the new one, never a mixture."""
    r = random.Random(first)
    with Server("--memory", "200MB") as server, server.client() as learner, server.client() as actor:
        learner.call("set", "params", b"\0" * MB)
        seen = 0
        for n in range(1, runs):
            value = bytes([n % 251]) * MB
            data = request("set", "params", value)
            at = r.randrange(len(data))
            learner.send(data[:at])
            got = actor.call("get", "params")
            assert len(got) == MB and got == got[:1] * MB and got[0] == (n - 1) % 251, "half a value"
            if r.random() < .1:
                vanish(learner.sock)
                learner = server.client()
                assert actor.call("get", "params") == got
                learner.send(data)
            else:
                learner.send(data[at:])
            assert learner.reply() == b"OK"
            version, got = actor.call("getv", "params", seen)
            assert version > seen and got == value
            assert actor.call("getv", "params", version) is None
            seen = version
        assert actor.call("getv", "params", seen - 1)[0] == seen
        assert actor.call("getv", "none", 0) is None


if __name__ == "__main__":
    sys.exit(main((clients, unread, spent, greedy, hoarder, limit, queued, crowd, left, halted, browser,
                   strangers, guesses, patterns, mget, replies, descriptors, turns, slices, halves), sys.argv))
