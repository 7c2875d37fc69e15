"""innet_replay - a replay memory for Python: innet-memory, or Redis with innet_per.so

    memory = innet_replay.Memory("127.0.0.1:6399", table="replay", capacity=1 << 20,
                                 fields={"obs": ("f4", (4,)), "action": "i8", "reward": "f4"})
    memory.add(obs=..., action=..., reward=..., priority=...)   # one, or a batch
    batch = memory.sample(512, beta=0.4)                        # arrays; .weights, .ids
    memory.update(batch.ids, priorities)
    with memory.prefetch(512) as batches: ...

See innet_replay(3).  One file; it needs numpy, and takes clients of redis-py
in the place of addresses.
"""
import binascii
import queue
import socket
import threading
import time

import numpy as np

ID = np.dtype([("shard", "<u4"), ("id", "<u8")])
LARGE = 16384           # bytes of an experience read straight into its row
SLOTS = 16384           # of a cluster


class Error(Exception):
    """What a server answered with instead: ERR, LIMIT, OOM, WRONGTYPE..."""


def _word(w):
    return w if isinstance(w, (bytes, memoryview)) else str(w).encode()


def _request(words):
    out = [b"*%d\r\n" % len(words)]
    for w in map(_word, words):
        out += (b"$%d\r\n" % len(w), w, b"\r\n")
    return b"".join(out)


class Rows:
    """Where the bulks of a reply go that are one long: rows of an array."""

    def __init__(self, size):
        self.size = size

    def fill(self, link, n):
        head = b"$%d\r\n" % self.size
        rows = np.empty((n, self.size), "u1")
        if self.size >= LARGE:
            for row in rows:
                if link.take(len(head)) != head:
                    raise Error("an experience is not of %d bytes" % self.size)
                link.read_into(memoryview(row))
                link.take(2)
            return rows
        # all of it as it comes, and the rows cut out of that
        whole = np.empty((n, len(head) + self.size + 2), "u1")
        link.read_into(memoryview(whole).cast("B"))
        if n and (whole[:, :len(head)] != np.frombuffer(head, "u1")).any():
            raise Error("an experience is not of %d bytes" % self.size)
        return whole[:, len(head):-2]


class Link:
    """One connection: requests go out by send(), replies come by reply()."""

    def __init__(self, addr, wait, username, password, tls):
        host, colon, port = addr.rpartition(":")
        unix = not colon or "/" in addr
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
        """Fill to: what is here, and then from the socket without a copy."""
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
                raise Error("no reply begins like this")
            self.more()

    def reply(self, rows=None, depth=0, place=0):
        """The next one; the fourth of its elements, which are blobs, into rows."""
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
        raise Error("no reply begins with %r" % head[:20])


class RedisPy:
    """The same over a client of redis-py, which has its own connections."""

    def __init__(self, client):
        self.client, self.waiting = client, []

    def close(self):
        pass

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
            if any(len(b) != rows.size for b in got[3]):
                raise Error("an experience is not of %d bytes" % rows.size)
            got[3] = np.frombuffer(b"".join(got[3]), "u1").reshape(len(got[3]), rows.size)
        return got


def slot(key):
    """Which slot of a cluster a key is in."""
    a = key.find("{")
    b = key.find("}", a + 1)
    return binascii.crc_hqx((key[a + 1:b] if a >= 0 and b > a + 1 else key).encode(), 0) % SLOTS


def shard_names(table, shards):
    """A table for each of so many equal parts of the slots: the same everywhere."""
    names = []
    for k in range(shards):
        tag = 0
        while not k * SLOTS // shards <= slot("{%d}" % tag) < (k + 1) * SLOTS // shards:
            tag += 1
        names.append("%s{%d}" % (table, tag))
    return names


class Shard:
    """A table on a server, and how much it weighed when last seen."""

    def __init__(self, memory, addr, table):
        self.memory, self.addr, self.table = memory, addr, table
        self.link, self.sum, self.have = None, 0.0, 0

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
        except OSError:
            self.close()
            raise

    def answer(self, rows=None):
        """What was asked for; a connection that fails is closed, and the next request opens another."""
        try:
            return self.follow(rows)
        except OSError:
            self.close()
            raise

    def follow(self, rows):
        """What was asked for, from wherever in a cluster the table is now."""
        got = self.open().reply(rows=rows)
        end, pause, sent = time.monotonic() + self.memory.wait, 0.01, False
        while isinstance(got, Error) and isinstance(self.addr, str):
            what, *where = str(got).split()
            if what == "ASK" and len(where) == 2:
                aside = Link(where[1], self.memory.wait, self.memory.username, self.memory.password, self.memory.tls)
                aside.call("ASKING")
                aside.send(_request(self.asked))
                got = aside.reply(rows=rows)
                aside.close()
                if not isinstance(got, Error):
                    break
                what, *where = str(got).split()
            if what == "MOVED" and len(where) == 2 and where[1] != self.addr and not sent:
                sent = True
                self.close()
                self.addr = where[1]
            elif what in ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN"):
                sent = False        # servers may not agree yet whose it is
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

    def look(self, reply):
        # A client of redis-py that speaks RESP3 has made a dictionary of it.
        it = reply if isinstance(reply, dict) else {bytes(reply[i]): reply[i + 1] for i in range(0, len(reply), 2)}
        self.saw(int(it[b"sum"]), int(it[b"shift"]), int(it[b"have"]))


class Batch(dict):
    """Arrays by field, as attributes too; ids, weights and probs beside them."""

    def __init__(self, arrays, ids, probs, weights):
        super().__init__(arrays)
        self.ids, self.probs, self.weights = ids, probs, weights

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def union_weights(probs, have, beta):
    """(N P)^-beta over the greatest."""
    w = (have * probs.astype("f8")) ** -beta
    return (w / w.max()).astype("f4")


class Memory:
    """A table, or one on each of many servers, drawn from as if it were one."""

    def __init__(self, servers, table="replay", fields=None, capacity=0, alpha=0.6, selector="per", times=0,
                 ratio=None, frames=None, stack=0, cluster=False, shards=None, username=None, password=None, tls=None,
                 wait=60, seed=None):
        self.username, self.password, self.tls, self.wait = username, password, tls, wait
        self.rng, self.next = np.random.default_rng(seed), 0
        self.how = dict(servers=servers, table=table, fields=fields, frames=frames, stack=stack, cluster=cluster,
                        shards=shards, username=username, password=password, tls=tls, wait=wait)
        at = servers.split(",") if isinstance(servers, str) else \
            list(servers) if isinstance(servers, (list, tuple)) else [servers]
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
        """A record: two stacks of frames, if there are any, and then the fields."""
        self.fields = {n: np.dtype(d) if not isinstance(d, tuple) else np.dtype((d[0], tuple(d[1])))
                       for n, d in fields.items()}
        self.record = np.dtype([(n, d.base.newbyteorder("<"), d.shape) for n, d in self.fields.items()])
        self.frames, self.stack = frames, stack
        if frames is not None and stack < 1:
            raise ValueError("frames need a stack of 1 or more")
        self.frame = np.dtype("u1") if frames is None else np.dtype((frames[0], tuple(frames[1])))

    def create(self, capacity, alpha=0.6, selector="per", times=0, ratio=None):
        """Make the tables where there are none; capacity is of all together."""
        words = ["capacity", -(-capacity // len(self.shards)), "alpha", alpha, "selector", selector, "times", times]
        words += ["ratio", *ratio] if ratio else []
        for s in self.shards:
            try:
                s.call("PER.CREATE", s.table, *words)
                if self.stack:
                    s.call("PER.FRAMES", s.table, self.frame.itemsize, self.stack)
            except Error as e:
                if "already" not in str(e):
                    raise

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
        """See anew how much each shard weighs."""
        for s in self.shards:
            s.ask("PER.INFO", s.table)
        for s in self.shards:
            s.look(s.answer())

    def rows(self, values):
        """Values by field as records, and how many; alone: of one that had no first axis."""
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
        for name in self.fields:
            rows[name] = values[name]
        return rows

    def add(self, priority="max", shard=None, states=None, next_states=None, timeout=0, **values):
        """
        Add one experience or a batch; priority may be of each.  With frames,
        states and next_states are stacks of them: each frame goes once.  The ids.
        """
        rows = self.rows(values)
        if self.fields == {}:
            rows = np.zeros(1 if np.ndim(states) == 1 + len(self.frame.shape) else len(states), self.record)
        n = len(rows)
        p = [priority] * n if isinstance(priority, str) or np.ndim(priority) == 0 else list(priority)
        if len(p) != n:
            raise ValueError("%d priorities for %d experiences" % (len(p), n))
        k = self.next if shard is None else shard
        self.next = (k + 1) % len(self.shards)
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

    def refer(self, states, next_states, n):
        """Each frame once, and of each experience which they are."""
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
        """How many of n to draw from each shard, by what they weighed last; none is asked for more than it holds."""
        weigh = np.array([s.sum for s in self.shards])
        if len(weigh) == 1 or weigh.sum() == 0:
            return [n] + [0] * (len(weigh) - 1)
        share = self.rng.multinomial(n, weigh / weigh.sum())
        have = np.array([s.have for s in self.shards])
        while (share > have).any():
            room = np.where(share < have, weigh, 0)
            if room.sum() == 0:
                break       # all have less: the server says so
            over = np.maximum(share - have, 0)
            share += self.rng.multinomial(over.sum(), room / room.sum()) - over
        return share

    def sample(self, n, beta=0.4, stratified=False, timeout=0, counted=True):
        """A batch of n, drawn by priority over all shards; weights are over the union."""
        if len(self.shards) > 1:
            if all(s.sum == 0 for s in self.shards):
                self.look()
        shares = self.shares(n)
        words = ["binary", "sum", "beta", beta] + ["stratified"] * stratified + ["refs"] * (self.stack > 0)
        words += ["timeout", timeout] if timeout and counted else []
        name = "PER.SAMPLE" if counted else "PER.SAMPLE_RO"
        for s, k in zip(self.shards, shares):
            s.ask(*([name, s.table, int(k)] + words if k else ["PER.INFO", s.table]))
        parts, failed = [], None
        for i, (s, k) in enumerate(zip(self.shards, shares)):
            try:
                got = s.answer(Rows(self.record.itemsize + 8 * self.stack) if k else None)
            except Error as e:          # the others' answers are to be read, too
                failed = e
                continue
            if not k:
                s.look(got)
                continue
            s.saw(*got[-1])
            parts.append((i, got))
        if failed is not None:
            self.look()
            raise failed
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
        else:
            weights = union_weights(probs[:at], sum(s.have for s in self.shards), beta)
        arrays = self.arrays(rows[0] if len(rows) == 1 else np.concatenate(rows), parts)
        return Batch(arrays, ids[:at], probs[:at], weights)

    def arrays(self, rows, parts):
        """Rows of bytes as an array a field."""
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
        """Set priorities by id; how many of the experiences are still there."""
        p = np.asarray(priorities, "<f4").reshape(-1)
        ids = np.asarray(ids, ID).reshape(-1)
        if len(p) != len(ids):
            raise ValueError("%d priorities for %d ids" % (len(p), len(ids)))
        asked = []
        for k, s in enumerate(self.shards):
            mine = ids["shard"] == k
            if mine.any():
                s.ask("PER.UPDATE", s.table, "binary", np.ascontiguousarray(ids["id"][mine]).tobytes(),
                      p[mine].tobytes())
                asked.append(s)
        return sum(s.answer() for s in asked)

    def put(self, name, data):
        """Store bytes under a name, for others that use these servers."""
        self.other.call("SET", name, data)

    def get(self, name):
        return self.other.call("GET", name)

    def again(self):
        """Another one like this, with connections of its own."""
        return Memory(seed=int(self.rng.integers(1 << 62)), **self.how)

    def prefetch(self, n, ahead=2, **how):
        """Batches that a thread draws ahead: an iterator, to be closed or used in `with`."""
        return Prefetch(self.again(), n, ahead, how)

    def writer(self, shard=None, **how):
        """What one actor adds step by step: see Writer."""
        k = self.next if shard is None else shard
        self.next = (k + 1) % len(self.shards)
        return Writer(self, k, **how)


class Prefetch:
    """A thread that keeps some batches drawn; the first error it meets is raised here."""

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
        except Exception as e:          # for whoever waits for a batch
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
    Steps of one actor into experiences.  With n_step, rewards are summed over
    that many steps by gamma and "discount" is what the value behind them counts.
    With sequence, an experience is that many steps in a row, each field with one
    axis more, and the next begins overlap steps before its end.
    """

    def __init__(self, memory, shard, n_step=1, gamma=0.99, sequence=0, overlap=0, batch=1):
        if n_step < 1 or sequence < 0 or not 0 <= overlap < max(1, sequence) or n_step > 1 and sequence:
            raise ValueError("either n_step of 1 or more, or a sequence longer than its overlap")
        self.memory, self.shard, self.n_step, self.gamma = memory, shard, n_step, gamma
        self.sequence, self.overlap, self.batch = sequence, overlap, batch
        self.steps, self.waiting = [], []

    def append(self, done, priority="max", truncated=False, **step):
        """A step; done: the episode ends there.  truncated: it is cut, and values go on."""
        self.steps.append(step)
        end = done or truncated
        if self.sequence:
            if len(self.steps) == self.sequence:
                self.emit({k: np.stack([s[k] for s in self.steps]) for k in step}, priority)
                self.steps = self.steps[self.sequence - self.overlap:]
            self.steps = [] if end else self.steps
        else:
            while len(self.steps) == self.n_step or end and self.steps:
                self.emit(self.sum(done), priority)
                self.steps.pop(0)
        if end:
            self.flush()

    def sum(self, done):
        first, last = self.steps[0], self.steps[-1]
        out = dict(first)
        out["reward"] = sum(self.gamma ** k * s["reward"] for k, s in enumerate(self.steps))
        if "next_obs" in last:
            out["next_obs"] = last["next_obs"]
        out["discount"] = 0.0 if done else self.gamma ** len(self.steps)
        return {k: v for k, v in out.items() if k in self.memory.fields}

    def emit(self, values, priority):
        self.waiting.append((priority, values))
        if len(self.waiting) >= self.batch:
            self.flush()

    def flush(self):
        """Send what waits for a batch to be full."""
        if not self.waiting:
            return
        values = {k: np.stack([np.asarray(v[k]) for _, v in self.waiting]) for k in self.waiting[0][1]}
        self.memory.add(priority=[p for p, _ in self.waiting], shard=self.shard, **values)
        self.waiting = []


class Sampler:
    """
    The calling convention of torchrl's samplers: sample(storage, batch_size)
    gives indices and info with "_weight", update_priority(index, priority)
    sets them; extend(index) and add(index) need nothing, for the server knows.
    Indices are ids; the arrays of the batch are info["batch"].
    """

    def __init__(self, memory, beta=0.4):
        self.memory, self.beta = memory, beta

    def sample(self, storage, batch_size):
        batch = self.memory.sample(batch_size, self.beta)
        return batch.ids, {"_weight": batch.weights, "index": batch.ids, "batch": batch}

    def update_priority(self, index, priority):
        if hasattr(priority, "detach"):
            priority = priority.detach().cpu().numpy()
        return self.memory.update(index, priority)

    def add(self, index):
        pass

    def extend(self, index):
        pass

    @property
    def default_priority(self):
        return 1.0
