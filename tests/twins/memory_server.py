"""memory_server.py - start a server to test, and run tests

It is an innet-memory or, where MEMORY_MODULE is the path of innet_per.so, a
redis-server with that module.
"""
import os
import subprocess
import sys
import time

from memory_client import Client, Error, WAIT_S


MODULE = os.environ.get("MEMORY_MODULE")


def redis_options(options):
    """Convert options of innet-memory to those of redis-server."""
    at, out = list(map(str, options)), []
    module = ["--loadmodule", MODULE]
    while at:
        what = at.pop(0)
        if what == "--seed":
            module += ["seed", at.pop(0)]
        elif what == "--memory":
            out += ["--maxmemory", at.pop(0)]
        elif what == "--touch":
            at.pop(0)
        else:
            raise AssertionError("redis-server has nothing for " + what)
    return out + module


class Server:
    """A server from $PATH with these options, until it is closed."""

    def __init__(self, *options, wait=True, prefix=()):
        if MODULE:
            self.open_redis(options)
            return
        self.ports = "%d.port" % id(self)
        self.errors = open("%d.err" % id(self), "w+b")
        self.process = subprocess.Popen(
            [*prefix, "innet-memory", "-q", "--listen", "127.0.0.1:0", "--port-file",
             self.ports, *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        self.pid = self.process.pid
        if wait:
            until(lambda: self.process.poll() is not None or os.path.exists(self.ports),
                  "the port of a server")
            assert os.path.exists(self.ports), "it did not start: %s" % self.said()
            with open(self.ports) as f:
                self.addr = "127.0.0.1:%d" % int(f.read())

    def open_redis(self, options):
        self.ports = os.path.abspath("%d.sock" % id(self))
        self.addr = self.ports
        self.errors = open("%d.err" % id(self), "w+b")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.ports, "--save", "",
             "--enable-debug-command", "yes", *redis_options(options)],
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        self.pid = self.process.pid
        until(lambda: self.process.poll() is not None or self.answers(), "a server that answers")
        assert self.process.poll() is None, "it did not start: %s" % self.said()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()
        for name in (self.ports, self.errors.name):
            if os.path.exists(name):
                os.unlink(name)

    def answers(self):
        try:
            with self.client() as c:
                return c.call("ping") == b"PONG"
        except (OSError, EOFError, Error):
            return False

    def client(self, **how):
        return Client(self.addr, **how)

    def said(self):
        """Return the text on its standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def ends(self):
        """Wait until the server ends without a signal, and return its status."""
        try:
            return self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("it goes on: %s" % self.said()) from None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def alive(self):
        assert self.process.poll() is None, "it ended with %d: %s" % (self.process.poll(), self.said())
        with self.client() as c:
            assert c.call("ping") == b"PONG"

    def sanitized(self):
        with open("/proc/%d/maps" % self.pid) as f:
            return "asan" in f.read()

    def memory(self, what="VmRSS"):
        """Return its memory in bytes, now or at most (VmHWM)."""
        with open("/proc/%d/status" % self.pid) as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(what + ":"))


def until(ready, what="what was waited for", said=lambda: ""):
    """Wait until ready() is true; otherwise fail with `what` and the result of said()."""
    end = time.monotonic() + WAIT_S
    while not ready():
        assert time.monotonic() < end, "%s did not come in %d s%s" % (what, WAIT_S, said())
        time.sleep(0.002)


def info(c, what):
    """Return a number from INFO."""
    for line in c.call("info").decode().splitlines():
        if line.startswith(what + ":"):
            return float(line.partition(":")[2])
    raise AssertionError("INFO has no " + what)


def fields(reply):
    """Return a reply of names and values as a dict."""
    return {reply[i].decode(): reply[i + 1] for i in range(0, len(reply), 2)}


def main(checks, argv):
    """Run CHECK [RUNS [FIRST]], or list the checks; return the exit status."""
    by_name = {f.__name__: f for f in checks}
    if argv[1:] == ["list"]:
        print(*by_name)
        return 0
    try:
        said = by_name[argv[1]](*map(int, argv[2:]))
    except (AssertionError, EOFError, Error, OSError) as e:
        if os.environ.get("MEMORY_TRACE"):
            raise
        print("%s: %s: %s" % (argv[1], type(e).__name__, e), file=sys.stderr)
        return 1
    print("%s: %s" % (argv[1], said or "done"))
    return 0
