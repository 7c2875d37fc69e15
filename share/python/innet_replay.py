"""innet_replay - a replay memory for Python: innet-memory, or Redis with innet_per.so

    memory = innet_replay.Memory("127.0.0.1:6399", table="replay", capacity=1 << 20,
                                 fields={"obs": ("f4", (4,)), "action": "i8", "reward": "f4"})
    memory.add(obs=..., action=..., reward=..., priority=...)   # one experience, or a batch
    batch = memory.sample(512, beta=0.4)                        # arrays; .weights, .ids
    memory.update(batch.ids, priorities)
    with memory.prefetch(512) as batches: ...

See innet_replay(3).  This module needs only numpy.  It accepts clients of redis-py
instead of addresses.
"""
import binascii
import json
import os
import queue
import socket
import sys
import threading
import time

import numpy as np

ID = np.dtype([("shard", "<u4"), ("id", "<u8")])
LARGE = 16384           # bytes from which an experience is read directly into its row
SLOTS = 16384           # slots of a cluster


class Error(Exception):
    """An error reply from a server, such as ERR, LIMIT, OOM or WRONGTYPE."""


class OutOfStep(Error):
    """The server sent an invalid or incomplete reply, so the connection cannot be used again."""


def _word(w):
    return w if isinstance(w, (bytes, memoryview)) else str(w).encode()


def _request(words):
    out = [b"*%d\r\n" % len(words)]
    for w in map(_word, words):
        out += (b"$%d\r\n" % len(w), w, b"\r\n")
    return b"".join(out)


class Rows:
    """Receive the bulk strings of a reply, which must have the same length, into the rows of an array."""

    def __init__(self, size):
        self.size, self.other = size, None

    def fill(self, link, n):
        """Return n rows.  If a bulk has another size, set `other` to its size; then the rows are incomplete."""
        rows = np.empty((n, self.size), "u1")
        for k in range(n):
            size = link.bulk()
            if k == 0 and size == self.size < LARGE:
                return self.cut(link, n)
            if size == self.size:
                link.read_into(memoryview(rows[k]))
            else:
                self.other = size
                link.take(size)
            link.take(2)
        return rows

    def cut(self, link, n):
        """Receive all bytes that follow the head of the first bulk, and then cut the rows out of them."""
        head = b"$%d\r\n" % self.size
        whole = np.empty((n, len(head) + self.size + 2), "u1")
        whole[0, :len(head)] = np.frombuffer(head, "u1")
        link.read_into(memoryview(whole).cast("B")[len(head):])
        if (whole[:, :len(head)] != np.frombuffer(head, "u1")).any():
            raise OutOfStep("experiences have different lengths, but the fields have %d bytes" % self.size)
        return whole[:, len(head):-2]

    def check(self):
        if self.other is not None:
            raise Error("an experience has %d bytes, but the fields have %d" % (self.other, self.size))


class Link:
    """A connection: send() sends requests, and reply() returns the next reply."""

    def __init__(self, addr, wait, username, password, tls):
        host, colon, port = addr.rpartition(":")
        unix = "/" in addr or not colon and os.path.exists(addr)
        if not unix and not (host and port.isdigit() and int(port) < 65536):
            raise ValueError("%r: an address is HOST:PORT or the path of a socket" % addr)
        s = socket.socket(socket.AF_UNIX) if unix else socket.create_connection((host.strip("[]"), int(port)), wait)
        s.settimeout(wait)
        if unix:
            s.connect(addr)
        else:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = tls.wrap_socket(s, server_hostname=host) if tls else s
        self.wait, self.room = wait, bytearray(1 << 16)
        self.view, self.at, self.have = memoryview(self.room), 0, 0
        if password is not None:
            self.call("AUTH", *([username] if username else []), password)

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def call(self, *words, **how):
        self.send(_request(words))
        got = self.reply(**how)
        if isinstance(got, Error):
            raise got
        return got

    def more(self):
        if self.at:
            self.view[:self.have - self.at] = bytes(self.view[self.at:self.have])
            self.at, self.have = 0, self.have - self.at
        n = self.sock.recv_into(self.view[self.have:])
        if n == 0:
            raise ConnectionError("the server closed the connection")
        self.have += n

    def take(self, n):
        out = bytearray(n)
        self.read_into(memoryview(out))
        return out

    def read_into(self, to):
        """Fill `to` with the bytes in the buffer, and then from the socket without a copy."""
        n = min(len(to), self.have - self.at)
        to[:n] = self.view[self.at:self.at + n]
        self.at += n
        while n < len(to):
            if len(to) - n < 4096:
                self.more()
                k = min(len(to) - n, self.have - self.at)
                to[n:n + k] = self.view[self.at:self.at + k]
                self.at += k
            else:
                k = self.sock.recv_into(to[n:])
                if k == 0:
                    raise ConnectionError("the server closed the connection")
            n += k

    def line(self):
        while True:
            end = self.room.find(b"\r\n", self.at, self.have)
            if end >= 0:
                got = bytes(self.view[self.at:end])
                self.at = end + 2
                return got
            if self.have - self.at > 4096:
                raise OutOfStep("invalid reply %r" % bytes(self.view[self.at:self.at + 20]))
            self.more()

    def bulk(self):
        """Read the head of a bulk and return the length of the bulk."""
        head = self.line()
        if head[:1] != b"$" or not head[1:].isdigit():
            raise OutOfStep("expected an experience, received %r" % head[:20])
        return int(head[1:])

    def reply(self, rows=None, depth=0, place=0):
        """Return the next reply.  The blobs in its fourth element are read into rows."""
        head = self.line()
        kind, rest = head[:1], head[1:]
        if kind == b"$":
            n = int(rest)
            if n < 0:
                return None
            got = self.take(n)
            self.take(2)
            return bytes(got)
        if kind == b":":
            return int(rest)
        if kind == b"*":
            n = int(rest)
            if rows is not None and depth == 1 and place == 3:
                return rows.fill(self, n)
            return [self.reply(rows, depth + 1, i) for i in range(max(n, 0))]
        if kind == b"+":
            return rest
        if kind == b"-":
            return Error(rest.decode(errors="replace"))
        raise OutOfStep("invalid reply %r" % head[:20])


class RedisPy:
    """The interface of Link for a client of redis-py, which has its own connections."""

    def __init__(self, client):
        self.client, self.waiting = client, []
        pool = getattr(client, "connection_pool", None)
        if getattr(pool, "connection_kwargs", {}).get("decode_responses"):
            raise ValueError("a client of redis-py with decode_responses cannot return the bytes of a batch")

    def close(self):
        self.waiting = []

    def call(self, *words, **how):
        self.ask(*words)
        got = self.reply(**how)
        if isinstance(got, Error):
            raise got
        return got

    def ask(self, *words):
        self.waiting.append(words)

    def reply(self, rows=None, **_):
        try:
            got = self.client.execute_command(*map(_word, self.waiting.pop(0)))
        except Exception as e:
            if type(e).__module__.startswith("redis.exceptions") and not isinstance(e, OSError) and \
                    type(e).__name__ in ("ResponseError", "OutOfMemoryError"):
                return Error(str(e))
            raise
        if rows is not None and isinstance(got, list) and len(got) > 3:
            for b in got[3]:
                rows.other = rows.other if len(b) == rows.size else len(b)
            rows.check()
            got[3] = np.frombuffer(b"".join(got[3]), "u1").reshape(len(got[3]), rows.size)
        return got


def slot(key):
    """Return the cluster slot to which a key belongs."""
    a = key.find("{")
    b = key.find("}", a + 1)
    return binascii.crc_hqx((key[a + 1:b] if a >= 0 and b > a + 1 else key).encode(), 0) % SLOTS


def shard_names(table, shards):
    """Return a table name for each of `shards` equal parts of the slots.  Every process gets the same names."""
    names = []
    for k in range(shards):
        tag = 0
        while not k * SLOTS // shards <= slot("{%d}" % tag) < (k + 1) * SLOTS // shards:
            tag += 1
        names.append("%s{%d}" % (table, tag))
    return names


def named(reply):
    """Return the reply to PER.INFO as a dictionary.  With RESP3, redis-py returns a dictionary already."""
    return reply if isinstance(reply, dict) else {bytes(reply[i]): reply[i + 1] for i in range(0, len(reply), 2)}


class Shard:
    """A table on a server, and the sum of its priorities at the last read."""

    def __init__(self, memory, addr, table):
        self.memory, self.addr, self.table = memory, addr, table
        self.link, self.sum, self.have, self.selector = None, 0.0, 0, "per"

    def open(self):
        if self.link is None:
            m = self.memory
            if isinstance(self.addr, str):
                self.link = Link(self.addr, m.wait, m.username, m.password, m.tls)
            else:
                self.link = RedisPy(self.addr)
        return self.link

    def close(self):
        if self.link is not None:
            self.link.close()
        self.link = None

    def ask(self, *words):
        self.asked = words
        link = self.open()
        try:
            if isinstance(link, RedisPy):
                link.ask(*words)
            else:
                link.send(_request(words))
        except BaseException:       # half of the request may have been sent
            self.close()
            raise

    def answer(self, rows=None):
        """Return the reply to a request.  Close a connection that fails; the next request opens another one."""
        try:
            got = self.follow(rows)
        except BaseException as e:
            if not isinstance(e, Error) or isinstance(e, OutOfStep):
                self.close()
            raise
        if rows is not None:
            rows.check()
        return got

    def follow(self, rows):
        """Return the reply to a request.  In a cluster, follow redirections to the server that has the table."""
        got = self.open().reply(rows=rows)
        end, pause, sent = time.monotonic() + self.memory.wait, 0.01, False
        while isinstance(got, Error) and isinstance(self.addr, str):
            what, *where = str(got).split()
            if what == "ASK" and len(where) == 2:
                aside = Link(where[1], self.memory.wait, self.memory.username, self.memory.password, self.memory.tls)
                try:
                    aside.call("ASKING")
                    aside.send(_request(self.asked))
                    got = aside.reply(rows=rows)
                finally:
                    aside.close()
                if not isinstance(got, Error):
                    break
                what, *where = str(got).split()
            if what == "MOVED" and len(where) == 2 and where[1] != self.addr and not sent:
                sent = True
                self.close()
                self.addr = where[1]
            elif what in ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN"):
                sent = False        # the servers may not agree yet on the slot's owner
                time.sleep(pause)
                pause = min(1, 2 * pause)
            else:
                raise got
            if time.monotonic() > end:
                raise got
            self.ask(*self.asked)
            got = self.link.reply(rows=rows)
        if isinstance(got, Error):
            raise got
        return got

    def call(self, *words):
        self.ask(*words)
        return self.answer()

    def saw(self, total, shift, have):
        self.sum, self.have = float(total) * 2.0 ** -shift, have

    def check(self, want, frame):
        """Raise an error unless the existing table has the properties in `want`."""
        it = named(self.call("PER.INFO", self.table))
        if want["stack"] and int(it[b"stack"]) == 0:
            try:
                self.call("PER.FRAMES", self.table, frame, want["stack"])
            except Error:
                pass            # another client did this meanwhile, or the table has experiences without frames
            it = named(self.call("PER.INFO", self.table))
        for name, value in want.items():
            had = it[name.encode()]
            same = had == value.encode() if isinstance(value, str) else abs(float(had) - value) <= 1e-6 * abs(value)
            if not same:
                raise ValueError("table %s exists, but its %s is %s and not %s" %
                                 (self.table, name, had.decode() if isinstance(had, bytes) else had, value))

    def look(self, reply):
        it = named(reply)
        self.saw(int(it[b"sum"]), int(it[b"shift"]), int(it[b"have"]))
        self.selector = it[b"selector"].decode()


class Batch(dict):
    """One array for each field, by key and as attribute, and the attributes ids, weights and probs."""

    def __init__(self, arrays, ids, probs, weights):
        super().__init__(arrays)
        self.ids, self.probs, self.weights = ids, probs, weights

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def exchange(asks):
    """
    Send several requests (shard, rows, words...) at once, and return their replies.
    All replies are read before the first failure is raised, so that none of them is
    mistaken for the reply to a later request.
    """
    asked, got, failed = [], [], None
    try:
        try:
            for shard, rows, *words in asks:
                shard.ask(*words)
                asked.append((shard, rows))
        except Exception as e:
            failed = e
        for shard, rows in asked:
            try:
                got.append(shard.answer(rows))
            except Exception as e:
                failed = failed or e
    except BaseException:       # including an interrupt
        for shard, _ in asked:
            shard.close()
        raise
    if failed is not None:
        raise failed
    return got


def floats(priorities):
    """Return priorities in the format of PER.UPDATE.  A priority above 0 remains above 0."""
    p = np.asarray(priorities).reshape(-1)
    if p.dtype == "<f4":
        return p
    with np.errstate(over="ignore"):
        small = p.astype("<f4")
    small[(small == 0) & (p > 0)] = np.finfo("f4").tiny
    return small


def union_weights(probs, have, beta):
    """Return the weights (N P)^-beta, divided by the largest weight."""
    w = (have * probs.astype("f8")) ** -beta
    return (w / w.max()).astype("f4")


class Memory:
    """A table, or tables on several servers that are sampled as if they were one table."""

    def __init__(self, servers, table="replay", fields=None, capacity=0, alpha=0.6, selector="per", times=0,
                 ratio=None, frames=None, stack=0, cluster=False, shards=None, username=None, password=None, tls=None,
                 wait=60, seed=None):
        self.username, self.password, self.tls, self.wait = username, password, tls, wait
        self.rng, self.next = np.random.default_rng(seed), 0
        self.how = dict(servers=servers, table=table, fields=fields, frames=frames, stack=stack, cluster=cluster,
                        shards=shards, username=username, password=password, tls=tls, wait=wait)
        at = servers.split(",") if isinstance(servers, str) else \
            list(servers) if isinstance(servers, (list, tuple)) else [servers]
        if not at or not all(isinstance(a, str) or hasattr(a, "execute_command") for a in at):
            raise ValueError("%r: servers are addresses or clients of redis-py" % (servers,))
        if cluster:
            names = shard_names(table, shards or 3)
            self.shards = [Shard(self, at[k % len(at)], name) for k, name in enumerate(names)]
        else:
            self.shards = [Shard(self, a, table) for a in at]
        self.other = Shard(self, at[0], None)
        self.set_fields(fields or {}, frames, stack)
        if capacity:
            self.create(capacity, alpha, selector, times, ratio)

    def set_fields(self, fields, frames, stack):
        """Define the layout of a record: two stacks of frames, if frames are used, and then the fields."""
        self.fields = {n: np.dtype(d) if not isinstance(d, tuple) else np.dtype((d[0], tuple(d[1])))
                       for n, d in fields.items()}
        taken = set(self.fields) & {"ids", "probs", "weights", "priority", "shard", "states", "next_states", "timeout"}
        if taken:
            raise ValueError("no field can be named %s" % ", ".join(sorted(taken)))
        self.record = np.dtype([(n, d.base.newbyteorder("<"), d.shape) for n, d in self.fields.items()])
        self.frames, self.stack = frames, stack
        if (frames is not None) != (stack > 0):
            raise ValueError("frames and a stack of 1 or more belong together")
        self.frame = np.dtype("u1") if frames is None else np.dtype((frames[0], tuple(frames[1])))

    def create(self, capacity, alpha=0.6, selector="per", times=0, ratio=None):
        """Create the tables that do not exist.  `capacity` is the total of all tables."""
        want = {"capacity": -(-int(capacity) // len(self.shards)), "alpha": alpha, "selector": selector, "times": times}
        words = [w for pair in want.items() for w in pair] + (["ratio", *ratio] if ratio else [])
        for s in self.shards:
            try:
                s.call("PER.CREATE", s.table, *words)
                if self.stack:
                    s.call("PER.FRAMES", s.table, self.frame.itemsize, self.stack)
            except Error as e:
                if "already" not in str(e):
                    raise
                s.check({**want, **dict(zip(("ratio_lo", "ratio_hi"), ratio or ())), "stack": self.stack},
                        self.frame.itemsize)

    def drop(self):
        for s in self.shards:
            s.call("PER.DROP", s.table)

    def close(self):
        for s in [*self.shards, self.other]:
            s.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        self.look()
        return sum(s.have for s in self.shards)

    def look(self):
        """Read again the sum of the priorities of each shard."""
        for s, got in zip(self.shards, exchange((s, None, "PER.INFO", s.table) for s in self.shards)):
            s.look(got)

    def look_again(self, failed):
        """Read the sums again for the next draw, after a draw failed, possibly because the sums were old."""
        try:
            self.look()
        except Exception as e:
            raise failed from e

    def rows(self, values):
        """Return the values, one array for each field, as an array of records."""
        missing = set(self.fields) - set(values)
        if missing or set(values) - set(self.fields):
            raise ValueError("fields are %s" % ", ".join(self.fields))
        n = None
        for name, d in self.fields.items():
            v = np.asarray(values[name])
            many = v.ndim - len(d.shape)
            size = v.shape[0] if many == 1 else None
            if many not in (0, 1) or v.shape[many:] != d.shape or n not in (None, (many, size)):
                raise ValueError("%s: shape %s, not %s or a batch of that" % (name, v.shape, d.shape))
            n = (many, size)
        rows = np.zeros(1 if n is None or n[0] == 0 else n[1], self.record)
        for name, d in self.fields.items():
            v = np.asarray(values[name])
            with np.errstate(invalid="ignore"):
                rows[name] = v
            if d.base.kind in "iub" and not np.can_cast(v.dtype, d.base) and (rows[name] != v).any():
                raise ValueError("%s: %s does not hold every value" % (name, d.base))
        return rows

    def add(self, priority="max", shard=None, states=None, next_states=None, timeout=0, **values):
        """
        Add one experience or a batch, and return the ids.  `priority` is one value,
        or a value for each experience.  If frames are used, states and next_states
        are stacks of frames, and each distinct frame is sent once.
        """
        if (states is not None, next_states is not None) != 2 * (self.stack > 0,):
            raise ValueError("use states and next_states with frames, and neither of them without frames")
        rows = self.rows(values)
        if self.fields == {}:
            rows = np.zeros(1 if np.ndim(states) == 1 + len(self.frame.shape) else len(states), self.record)
        n = len(rows)
        p = [priority] * n if isinstance(priority, str) or np.ndim(priority) == 0 else list(priority)
        if len(p) != n:
            raise ValueError("%d priorities for %d experiences" % (len(p), n))
        k = self.turn(shard)
        words = ["PER.ADD", self.shards[k].table] + (["timeout", timeout] if timeout else [])
        blobs = [r.tobytes() for r in rows] if self.record.itemsize else [b""] * n
        if self.stack:
            frames, heads = self.refer(states, next_states, n)
            words += ["frames", len(frames), *frames]
            blobs = [h + b for h, b in zip(heads, blobs)]
        for x, b in zip(p, blobs):
            words += (x if isinstance(x, str) else "%.9g" % x, b)
        got = self.shards[k].call(*words)
        ids = np.zeros(n, ID)
        ids["shard"], ids["id"] = k, got
        return ids

    def turn(self, shard):
        """Return the index `shard` or, if it is None, the index of the next shard in turn."""
        k = self.next if shard is None else shard
        if not 0 <= k < len(self.shards):
            raise ValueError("shard %s: the memory has only %d" % (k, len(self.shards)))
        self.next = (k + 1) % len(self.shards)
        return k

    def refer(self, states, next_states, n):
        """Return the distinct frames, and for each experience the numbers of its frames."""
        shape = (n, self.stack) + self.frame.shape
        both = [np.ascontiguousarray(np.asarray(s, self.frame.base).reshape(shape)) for s in (states, next_states)]
        at, heads = {}, []
        for i in range(n):
            index = [at.setdefault(f.tobytes(), len(at)) for s in both for f in s[i]]
            heads.append(np.array(index, "<u2").tobytes())
        if len(at) > 65535:
            raise ValueError("more than 65535 frames in one batch")
        return list(at), heads

    def shares(self, n):
        """Return how many of n experiences to draw from each shard, by the last sums.  Draw at most all from a shard."""
        weigh = np.array([s.sum for s in self.shards])
        if len(weigh) == 1 or weigh.sum() == 0:
            return [n] + [0] * (len(weigh) - 1)
        share = self.rng.multinomial(n, weigh / weigh.sum())
        have = np.array([s.have for s in self.shards])
        while (share > have).any():
            room = np.where(share < have, weigh, 0)
            if room.sum() == 0:
                break       # no shard has enough; the server reports this
            over = np.maximum(share - have, 0)
            share += self.rng.multinomial(over.sum(), room / room.sum()) - over
        return share

    def sample(self, n, beta=0.4, stratified=False, timeout=0, counted=True):
        """Return n experiences, drawn by priority from all shards.  The weights are those of one large table."""
        if n < 1:
            raise ValueError("%s experiences: a batch has one or more" % n)
        if len(self.shards) > 1:
            if all(s.sum == 0 for s in self.shards):
                self.look()
        shares = self.shares(n)
        words = ["binary", "sum", "beta", beta] + ["stratified"] * stratified + ["refs"] * (self.stack > 0)
        words += ["timeout", timeout] if timeout and counted else []
        name, size = "PER.SAMPLE" if counted else "PER.SAMPLE_RO", self.record.itemsize + 8 * self.stack
        try:
            replies = exchange((s, Rows(size), name, s.table, int(k), *words) if k else (s, None, "PER.INFO", s.table)
                               for s, k in zip(self.shards, shares))
        except Error as e:
            if len(self.shards) > 1:
                self.look_again(e)
            raise
        parts = []
        for i, (s, k, got) in enumerate(zip(self.shards, shares, replies)):
            if k:
                s.saw(*got[-1])
                parts.append((i, got))
            else:
                s.look(got)
        return self.batch(parts, n, beta)

    def batch(self, parts, n, beta):
        ids = np.empty(n, ID)
        probs, weights = np.empty(n, "f4"), None
        at, rows = 0, []
        for i, got in parts:
            k = len(got[0]) // 8
            ids["shard"][at:at + k] = i
            ids["id"][at:at + k] = np.frombuffer(got[0], "<u8")
            probs[at:at + k] = np.frombuffer(got[1], "<f4") * np.float32(k / n)
            rows.append(got[3])
            at += k
        if len(self.shards) == 1:
            weights = np.frombuffer(parts[0][1][2], "<f4").copy()
        elif any(s.selector != "per" for s in self.shards):
            weights = np.ones(at, "f4")     # the weight in each of these tables
        else:
            weights = union_weights(probs[:at], sum(s.have for s in self.shards), beta)
        arrays = self.arrays(rows[0] if len(rows) == 1 else np.concatenate(rows), parts)
        return Batch(arrays, ids[:at], probs[:at], weights)

    def arrays(self, rows, parts):
        """Convert rows of bytes to one array for each field."""
        head, out = 8 * self.stack, {}
        if self.stack:
            at = np.ascontiguousarray(rows[:, :head]).view("<u4")
            frames, base, start = [], 0, 0
            for _, got in parts:
                k = len(got[3])
                at[start:start + k] += base
                base += len(got[4])
                start += k
                frames += got[4]
            film = np.frombuffer(b"".join(frames), self.frame.base).reshape((-1,) + self.frame.shape)
            out["states"], out["next_states"] = film[at[:, :self.stack]], film[at[:, self.stack:]]
        for name, d in self.fields.items():
            off = head + self.record.fields[name][1]
            part = rows[:, off:off + d.itemsize]
            if part.strides[0] % d.base.itemsize or part.ctypes.data % d.base.itemsize:
                part = np.ascontiguousarray(part)
            out[name] = part.view(d.base.newbyteorder("<")).reshape((len(rows),) + d.shape)
        return out

    def update(self, ids, priorities):
        """Set the priorities of the experiences `ids`.  Return the number of these that still exist."""
        p, ids = floats(priorities), self.ids(ids)
        if len(p) != len(ids):
            raise ValueError("%d priorities for %d ids" % (len(p), len(ids)))
        asks = []
        for k, s in enumerate(self.shards):
            mine = slice(None) if len(self.shards) == 1 else ids["shard"] == k
            if len(ids[mine]):
                asks.append((s, None, "PER.UPDATE", s.table, "binary", ids["id"][mine].tobytes(), p[mine].tobytes()))
        return sum(exchange(asks))

    def ids(self, ids):
        """Convert ids from add() or a batch to an array of ID.  With one table, plain numbers are ids, too."""
        a = np.asarray(ids)
        if a.dtype.names != ID.names:
            alone = len(self.shards) == 1 and a.ndim < 2
            if a.size and (a.dtype.kind not in "iu" or not alone and (a.ndim != 2 or a.shape[1] != 2)):
                raise ValueError("ids are pairs of shard and id, as add() and a batch return them")
            made = np.zeros(a.size if alone else len(a), ID)
            made["shard"], made["id"] = (0, a.reshape(-1)) if alone else a.reshape(-1, 2).T
            a = made
        if (a["shard"] >= len(self.shards)).any():
            raise ValueError("shard %d: the memory has only %d" % (a["shard"].max(), len(self.shards)))
        return a.astype(ID, copy=False).reshape(-1)

    def put(self, name, data):
        """Store bytes under a name, where other clients of the servers can read them."""
        self.other.call("SET", name, data)

    def get(self, name):
        return self.other.call("GET", name)

    def again(self):
        """Return another Memory for the same tables, with its own connections."""
        return Memory(seed=int(self.rng.integers(1 << 62)), **self.how)

    def prefetch(self, n, ahead=2, **how):
        """Return an iterator over batches that a thread draws in advance.  Close it, or use it in `with`."""
        return Prefetch(self.again(), n, ahead, how)

    def writer(self, shard=None, **how):
        """Return a Writer, to which an actor adds one step at a time."""
        return Writer(self, self.turn(shard), **how)


class Prefetch:
    """A thread that draws batches in advance.  The first error in the thread is raised in the caller."""

    def __init__(self, memory, n, ahead, how):
        self.memory, self.queue, self.stopped = memory, queue.Queue(ahead), False
        self.thread = threading.Thread(target=self.run, args=(n, how), daemon=True)
        self.thread.start()

    def put(self, what):
        while not self.stopped:
            try:
                self.queue.put(what, timeout=0.1)
                return
            except queue.Full:
                pass

    def run(self, n, how):
        try:
            while not self.stopped:
                self.put(self.memory.sample(n, **how))
        except Exception as e:          # __next__() raises it in the caller
            self.put(e)

    def __iter__(self):
        return self

    def __next__(self):
        if self.stopped:
            raise StopIteration
        got = self.queue.get(timeout=2 * self.memory.wait)
        if isinstance(got, Exception):
            self.close()
            raise got
        return got

    def close(self):
        self.stopped = True
        self.thread.join(2 * self.memory.wait)
        self.memory.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Writer:
    """
    Turn the steps of one actor into experiences.  With n_step, the reward of an
    experience is the sum of the rewards of n_step steps, discounted by gamma.
    Fields whose names begin with next_ come from the last of these steps, and
    "discount" is the factor of the value after them.  With sequence, an experience
    consists of `sequence` successive steps, and each field has an additional axis.
    The next sequence begins `overlap` steps before the end of the previous one.
    It begins earlier if the last sequence could not otherwise end with the episode.
    Episodes that are shorter than a sequence are not stored; `short` counts them.
    """

    def __init__(self, memory, shard, n_step=1, gamma=0.99, sequence=0, overlap=0, batch=1):
        if n_step < 1 or sequence < 0 or not 0 <= overlap < max(1, sequence) or n_step > 1 and sequence:
            raise ValueError("either n_step of 1 or more, or a sequence longer than its overlap")
        if sequence and memory.stack:
            raise ValueError("sequences cannot be used with stacks of frames: make the frames a field")
        self.memory, self.shard, self.n_step, self.gamma = memory, shard, n_step, gamma
        self.sequence, self.overlap, self.batch = sequence, overlap, batch
        self.steps, self.waiting = [], []
        self.due, self.short = sequence, 0

    def append(self, done, priority="max", truncated=False, **step):
        """Add a step.  `done`: the episode ends.  `truncated`: it was cut off, so the last state has a value."""
        self.check(step)
        end = done or truncated
        made = self.row(step, end) if self.sequence else self.sums(step, done, end)
        self.waiting += [(priority, values) for values in made]
        if end or len(self.waiting) >= self.batch:
            self.flush()

    def check(self, step):
        """Raise an error unless the step has exactly the fields that are needed."""
        want = set(self.memory.fields) | ({"states", "next_states"} if self.memory.stack else set())
        if not self.sequence:
            want.discard("discount")
        if set(step) != want:
            raise ValueError("a step must have %s, not %s" % (", ".join(sorted(want)), ", ".join(sorted(step))))
        if self.n_step > 1 and "reward" not in step:
            raise ValueError("with n_step, a step must have a reward")

    def sums(self, step, done, end):
        """Return the n-step experiences that are complete with this step."""
        steps, made = self.steps + [step], []
        while len(steps) == self.n_step or end and steps:
            made.append(self.sum(steps, done))
            steps = steps[1:]
        self.steps = steps
        return made

    def row(self, step, end):
        """Return a list with the sequence that ends with this step, or an empty list."""
        self.steps = (self.steps + [step])[-self.sequence:]
        self.due -= 1
        whole, made = len(self.steps) == self.sequence, []
        if whole and (self.due == 0 or end):
            made = [{k: np.stack([s[k] for s in self.steps]) for k in step}]
            self.due = self.sequence - self.overlap
        if end:
            self.short += not whole
            self.steps, self.due = [], self.sequence
        return made

    def sum(self, steps, done):
        first, last = steps[0], steps[-1]
        out = {k: v for k, v in first.items() if not k.startswith("next_")}
        out.update((k, v) for k, v in last.items() if k.startswith("next_"))
        if "reward" in first:
            out["reward"] = sum(self.gamma ** k * s["reward"] for k, s in enumerate(steps))
        if "discount" in self.memory.fields:
            out["discount"] = 0.0 if done else self.gamma ** len(steps)
        return out

    def flush(self):
        """Send the waiting experiences.  If a server does not accept them, they are sent with the next ones."""
        if not self.waiting:
            return
        try:
            values = {k: np.stack([np.asarray(v[k]) for _, v in self.waiting]) for k in self.waiting[0][1]}
            self.memory.add(priority=[p for p, _ in self.waiting], shard=self.shard, **values)
        except ValueError:
            self.waiting = []       # they can never be sent
            raise
        self.waiting = []


class _Sampler:
    """See Sampler()."""

    def __init__(self, servers, capacity, alpha=0.6, beta=0.4, eps=1e-8, table="sampler", clear=False, **how):
        self.memory = Memory(servers, table=table, fields={"index": "i8"}, capacity=capacity, alpha=alpha, **how)
        self.capacity, self.beta, self.eps, self.highest = capacity, beta, eps, 1.0
        self.ids, self.there, self.cursor = np.zeros(capacity, ID), np.zeros(capacity, bool), 0
        if clear:
            self.memory.drop()
            self.memory.create(capacity, alpha)
        self.strange = len(self.memory)     # places that an earlier run has written

    def sample(self, storage, batch_size):
        self.check()
        batch = self.memory.sample(batch_size, self.beta)
        weight = _tensor(batch.weights)
        # torchrl has an old name and a new name for the weights
        return _tensor(batch.index), {"_weight": weight, "priority_weight": weight}

    def check(self):
        if self.strange:
            raise ValueError("table %s has %d places of an earlier run: restore them with load_state_dict(), or remove "
                             "them with clear=True" % (self.memory.shards[0].table, self.strange))

    def extend(self, index):
        """Record that these places of the storage have new contents.  The old contents are not drawn again."""
        self.check()
        index = _numbers(index)
        if len(index) > self.capacity:
            raise ValueError("%d places in one call, but the capacity is %d" % (len(index), self.capacity))
        if (index != (self.cursor + np.arange(len(index))) % self.capacity).any():
            raise ValueError("places must be written in turn: the next is %d of %d" % (self.cursor, self.capacity))
        # the storage already has the new contents; if a server fails, they are not drawn
        old = self.ids[index[self.there[index]]]
        self.there[index] = False
        self.cursor = (self.cursor + len(index)) % self.capacity
        if len(old):
            self.memory.update(old, np.zeros(len(old)))
        shards = len(self.memory.shards)
        for k in range(shards):
            mine = index[index % shards == k]
            if len(mine):
                self.ids[mine] = self.memory.add(index=mine, shard=k)
                self.there[mine] = True

    add = extend

    def update_priority(self, index, priority, **_):
        index = _numbers(index)
        p = np.broadcast_to(_numbers(priority, "f8"), index.shape) + self.eps
        self.highest = max(self.highest, p.max(initial=0))
        self.tell(index, p)

    def tell(self, index, p):
        there = self.there[index]
        self.memory.update(self.ids[index][there], p[there])

    def mark_update(self, index, **_):
        index = _numbers(index)
        self.tell(index, np.full(len(index), self.highest))

    @property
    def default_priority(self):
        return self.highest

    @property
    def ran_out(self):
        return False

    def state_dict(self):
        return {"ids": self.ids.tolist(), "there": self.there.tolist(), "highest": self.highest,
                "cursor": self.cursor}

    def load_state_dict(self, state):
        """Restore the places of the storage.  Their priorities are on the servers."""
        self.ids, self.there = np.array([tuple(i) for i in state["ids"]], ID), np.array(state["there"], bool)
        self.highest, self.cursor, self.strange = state["highest"], state["cursor"], 0

    def dumps(self, path):
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "innet_replay.json"), "w") as f:
            json.dump(self.state_dict(), f)

    def loads(self, path):
        with open(os.path.join(path, "innet_replay.json")) as f:
            self.load_state_dict(json.load(f))

    def _empty(self):
        if self.there.any():
            self.memory.update(self.ids[self.there], np.zeros(self.there.sum()))
        self.there[:] = False
        self.cursor = 0


def _numbers(x, kind="i8"):
    if isinstance(x, tuple):
        raise ValueError("the storage must have one dimension, not %d" % len(x))
    return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x, kind).reshape(-1)


def _tensor(x):
    """Return x as a torch tensor if the script has imported torch, and otherwise as an array."""
    torch = sys.modules.get("torch")
    return np.array(x) if torch is None else torch.from_numpy(np.array(x))


def Sampler(servers, capacity, *power, **how):
    """
    Return a replacement for torchrl's PrioritizedSampler(capacity, alpha, beta).
    The experiences remain in the script's storage; the servers draw their indices
    by priority.
    """
    kind = (_Sampler,)
    if "torchrl" in sys.modules:
        from torchrl.data.replay_buffers.samplers import Sampler as base    # replay buffers require this base class
        kind = (_Sampler, base)
    return type("Sampler", kind, {})(servers, capacity, *power, **how)
