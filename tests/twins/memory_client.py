"""memory_client.py - send and read raw requests and replies of Redis

For tests that send what no client library would.  An address is HOST:PORT, or
the path of a Unix socket if a / or no : is in it.  Nothing waits for more than
WAIT_S seconds: socket.timeout says that it did.
"""
import socket

WAIT_S = 60


class Error(Exception):
    """An error reply: its text without the minus sign."""


def connect(addr, wait=WAIT_S, room=0):
    """Return a connected socket; with `room`, the kernel buffers at most that many received
    bytes."""
    host, colon, port = addr.rpartition(":")
    unix = not colon or "/" in addr
    s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    s.settimeout(wait)
    if room:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    if not unix:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.connect(addr if unix else (host, int(port)))
    return s


def raw(word):
    return word if isinstance(word, bytes) else str(word).encode()


def request(*words):
    """Encode these words as a request of the protocol."""
    out = [b"*%d\r\n" % len(words)]
    for w in map(raw, words):
        out += [b"$%d\r\n" % len(w), w, b"\r\n"]
    return b"".join(out)


class Client:
    """One connection; call() raises an error reply, pipeline() returns it."""

    def __init__(self, addr, wait=WAIT_S, room=0):
        self.sock = connect(addr, wait, room)
        self.file = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        got = self.file.readline()
        if not got.endswith(b"\r\n"):
            raise EOFError("the server closed after %r" % got)
        return got[:-2]

    def reply(self):
        """Return the next reply: bytes, int, list, None, or an Error that is not raised."""
        head = self.line()
        kind, rest = head[:1], head[1:]
        if kind == b"+":
            return rest
        if kind == b"-":
            return Error(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            n = int(rest)
            if n < 0:
                return None
            body = self.file.read(n + 2)
            if len(body) != n + 2 or body[n:] != b"\r\n":
                raise EOFError("%d bytes of a bulk of %d" % (len(body), n))
            return body[:n]
        if kind == b"*":
            n = int(rest)
            return None if n < 0 else [self.reply() for _ in range(n)]
        raise ValueError("no reply begins with %r" % head[:40])

    def call(self, *words):
        self.send(request(*words))
        got = self.reply()
        if isinstance(got, Error):
            raise got
        return got

    def error(self, *words):
        """Return the text of the error that this request must get."""
        try:
            got = self.call(*words)
        except Error as e:
            return str(e)
        raise AssertionError("%r was answered with %.80r" % (words[:3], got))

    def pipeline(self, requests):
        """Send all requests at once and return their replies; only for small requests."""
        self.send(b"".join(request(*r) for r in requests))
        return [self.reply() for _ in requests]
