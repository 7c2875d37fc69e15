"""Let torch.distributed sum gradients in the network: the backend "innet".

Set INNET_SWITCH to the HOST:PORT of a switch that runs innet-switch -p iswitch,
beside MASTER_ADDR and the other variables of torch.distributed.  In the script:

    import innet_torch                          # registers the backend
    torch.distributed.init_process_group('innet')

If the script takes the name of the backend as an argument, it needs no change:

    python3 -m innet_torch script.py --backend innet

The switch computes all_reduce with SUM and AVG of float32, float16 and bfloat16
tensors.  A gloo group over the same store computes everything else.  Each rank
runs innet-worker as a child process or, if INNET_LIBRARY names libinnet.so, uses
this library.  Each process group is a job of the switch.  The module needs numpy.  innet_torch(3) describes this module.
"""
import collections
import contextlib
import datetime
import fcntl
import json
import os
import queue
import re
import runpy
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.parse
import weakref
import zlib

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

__all__ = ['Error', 'ddp_hook', 'init_process_group', 'new_group', 'ray_group']

HELLO, GRADIENT, RESULT, WEIGHTS, BYE = range(1, 6)
PARTIAL = 2                             # a flag of a result
HEAD = struct.Struct('<4sHHIfQII')
PIPE = 1 << 20                          # bytes; the limit for unprivileged users
F_SETPIPE_SZ = 1031
RING = 2048 * 366                       # elements of the ring of segments
PIECE = 64                              # segments of a message to innet-worker
CHECK = 2                               # elements before a vector; see _check()
GIVE_UP = 30.0                          # seconds without an answer of the switch
PATIENCE = 5.0                          # seconds for the end of innet-worker
READ = 2.0                              # seconds for others to read a reason
ATTEMPTS = 8                            # numbers of jobs to try
SHORT = 200000                          # elements that fit into a pipe; see add()
HELD = 256                              # Work objects; see _Group
FLOATS = (torch.float32, torch.float16, torch.bfloat16)

ReduceOp = dist.ReduceOp
WorkBase = getattr(distributed_c10d, 'Work', None) or (
    torch._C._distributed_c10d.Work)
_url = {}                               # settings of init_method='innet://...'
_default = {}                           # keywords of init_process_group()
_now = {}                               # keywords of the call that is running


class Error(RuntimeError):
    """A process group has failed; the text names the rank and gives the reason."""


class _Retry(Exception):
    """The switch refused this number of a job."""


def _setting(name, default=None):
    """Return a setting of the keywords or, if there is none, of the URL or of the
    environment."""
    for settings in (_now, _default, _url):
        if settings.get(name) is not None:
            return settings[name]
    return os.environ.get('INNET_' + name.upper(), default)


@contextlib.contextmanager
def _keywords(**settings):
    """Use these settings for the groups that this thread creates inside."""
    _now.update(settings)
    try:
        yield
    finally:
        _now.clear()


def init_process_group(backend='innet', *args, reduce=None, straggler=None, **more):
    """Call torch.distributed.init_process_group() for the backend "innet", and choose
    how the switch combines the tensors of the ranks.  The choice also applies to
    later groups, unless new_group() makes another one.

    reduce: "sum" (the default), "ordered", "fixed", "median" or "trimmed:N".  With
        "median" and "trimmed:N", AVG is the median or the trimmed mean of each
        element, and SUM is the number of ranks times this value.
    straggler: time in seconds.  So long after the first tensor of an all_reduce has
        arrived, the switch leaves out the ranks that are late.  The sum of the others
        is multiplied, so that AVG is the mean of the tensors that arrived in time.

    All ranks must give the same values.  DLP and iSwitch describe both; see
    innet_torch(3)."""
    settings = {'reduce': reduce, 'straggler': straggler}
    with _keywords(**settings):
        dist.init_process_group(backend, *args, **more)
    _default.update(settings)


def new_group(*args, reduce=None, straggler=None, **more):
    """Call torch.distributed.new_group() with the backend "innet".  The keywords are
    those of init_process_group()."""
    more.setdefault('backend', 'innet')
    with _keywords(reduce=reduce, straggler=straggler):
        return dist.new_group(*args, **more)


def _program():
    """Return the path of innet-worker, which is in PATH or in its place beside this
    file."""
    here = os.path.dirname(os.path.realpath(__file__))
    beside = os.path.join(here, '../../../bin/innet-worker')
    return (os.environ.get('INNET_WORKER') or shutil.which('innet-worker') or
            (beside if os.access(beside, os.X_OK) else None))


def _views(parts):
    return collections.deque(memoryview(p).cast('B') for p in parts)


def _skip(parts, n):
    """Remove n bytes from the front of the views."""
    while parts and n >= len(parts[0]):
        n -= len(parts.popleft())
    if n > 0:
        parts[0] = parts[0][n:]


def _write(fd, parts):
    """Write the views to a non-blocking pipe, and remove the written bytes from the
    deque.  Return False if the pipe is full."""
    try:
        while parts:
            _skip(parts, os.writev(fd, parts))
    except BlockingIOError:
        return False
    return True


def _read(fd, parts):
    """Fill the buffers.  Return False if the stream ends."""
    parts = _views(parts)
    while parts:
        n = os.readv(fd, parts)
        if n == 0:
            return False
        _skip(parts, n)
    return True


class _Callbacks:
    """Complete futures in threads of their own, because the callback of a future may
    wait for another future."""

    def __init__(self):
        self._lock = threading.Lock()
        self._queue = queue.SimpleQueue()
        self._idle = 0

    def run(self, function):
        with self._lock:
            new = self._idle == 0
            self._idle -= not new
        if new:
            threading.Thread(target=self._loop, daemon=True).start()
        self._queue.put(function)

    def _loop(self):
        while True:
            self._queue.get()()
            with self._lock:
                self._idle += 1


_callbacks = _Callbacks()


class _Work(WorkBase):
    """The handle of one all_reduce."""

    def __init__(self, tensors):
        super().__init__()
        self._tensors = tensors         # or, if `weak` is true, weak references
        self._weak = False
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._error = None
        self._base = self._future = None

    def _results(self):
        return [t() for t in self._tensors] if self._weak else self._tensors

    def _weaken(self):
        """Do not keep the memory of the tensors after the caller has seen the end."""
        if not self._weak:
            self._tensors = [weakref.ref(t) for t in self._tensors]
            self._weak = True

    def _finish(self, error=None):
        with self._lock:
            if self._done.is_set():
                return
            self._error = error
            self._done.set()
            base = self._base
        if base is not None:
            _callbacks.run(self._finish_future)

    def _finish_future(self):
        self._base.set_result(None)
        self._weaken()

    def _outcome(self, _=None):
        if self._error is not None:
            raise self._error
        return self._results()

    def get_future(self):
        """Return a future of the list of tensors.  An exception in a callback is the
        only way to give an exception to the C++ side of a future."""
        with self._lock:
            if self._future is None:
                devices = sorted({t.device for t in self._results()
                                  if t.device.type != 'cpu'}, key=str)
                self._base = torch.futures.Future(devices=devices or None)
                self._future = self._base.then(self._outcome)
                if self._done.is_set():
                    self._finish_future()
            return self._future

    def wait(self, timeout=None):
        seconds = timeout.total_seconds() if timeout else 0
        if not self._done.wait(seconds if seconds > 0 else None):
            raise Error('innet: all_reduce did not end within %g s' % seconds)
        self._outcome()
        with self._lock:
            if self._future is None:
                self._weaken()
        return True

    def is_completed(self):
        return self._done.is_set()

    def is_success(self):
        return self._done.is_set() and self._error is None

    def exception(self):
        return self._error

    def synchronize(self):
        self.wait()

    def result(self):
        tensors = self._results()       # wait() may drop the last reference
        self.wait()
        return tensors


@contextlib.contextmanager
def _writing(tensor):
    """Allow this thread to write to the tensor.  PyTorch rejects writes to a tensor of
    inference mode outside this mode, and the mode belongs to the caller's thread."""
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        yield


class _Sum:
    """One all_reduce on its way: the tensors, and the vector of their elements."""

    def __init__(self, tensors, divisor):
        self.work = _Work(tensors)
        self.divisor = divisor          # 1, or the number of ranks
        self.check = None               # see _check()
        one = tensors[0]
        self.direct = (len(tensors) == 1 and one.dtype == torch.float32 and
                       one.device.type == 'cpu' and one.is_contiguous())
        if self.direct:                 # sent from the tensor and received into it
            self.vector = one.detach().reshape(-1)
        else:
            self.vector = torch.cat([
                t.detach().reshape(-1).to('cpu', torch.float32)
                for t in tensors])
        self.array = self.vector.numpy()
        self.text = '%d elements of %s, %s' % (
            self.array.size, ' and '.join(str(t.dtype).replace('torch.', '')
                                          for t in tensors),
            'SUM' if divisor == 1 else 'AVG')

    def scale(self, start, end, factor):
        """Multiply the elements from start to end, to replace what late ranks did not
        contribute."""
        with _writing(self.vector):
            self.vector[start:end].mul_(factor)

    def finish(self):
        """Give the sum to the tensors, and complete the work."""
        if self.divisor != 1:
            with _writing(self.vector):
                self.vector.div_(self.divisor)
        if not self.direct:
            at = 0
            for t in self.work._results():
                with _writing(t):
                    part = self.vector[at:at + t.numel()]
                    t.detach().copy_(part.view(t.shape))
                at += t.numel()
        self.work._finish()


def _check(number, text):
    """Return the elements that precede a vector.  They depend on the number of the
    all_reduce and on its text.  Their sum shows whether all ranks called the same
    all_reduce.  The numbers are so small that all sums of up to 4096 of them are
    exact."""
    crc = zlib.crc32(b'%d %s' % (number, text.encode()))
    return np.array([crc & 4095, crc >> 12 & 4095], '<f4')


_workers = weakref.WeakSet()


def _after_fork():
    """Close the pipes in a forked process, for example a worker of a DataLoader.
    Otherwise innet-worker would not notice the end of the rank."""
    for w in list(_workers):
        for f in (w._process.stdin, w._process.stdout, w._process.stderr):
            f.close()


os.register_at_fork(after_in_child=_after_fork)


class _Worker:
    """The innet-worker of a process group, which is one member of the group's job."""

    def _describe(self, job, rank, size, give_up, store, rule):
        """Set what all kinds of workers have."""
        self.rank, self.size, self.job = rank, size, job
        self.may_lack = rule[1] > 0     # a sum may lack late ranks
        self.error = None
        self.closing = False
        self.give_up = give_up
        self._store = store
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._threads = []
        self._added = self._summed = 0  # numbers of vectors
        self._todo = queue.SimpleQueue()

    def __init__(self, switch, key, job, rank, size, timeout, give_up,
                 store, rule):
        self._describe(job, rank, size, give_up, store, rule)
        self._order = threading.Lock()  # held while a vector is added
        self._unsent = 0                # vectors that the thread _send() must send
        self._sent = collections.deque()        # vectors without a sum, in order
        self._lines = collections.deque(maxlen=8)
        program = _program()
        if program is None:
            raise Error('rank %d: innet-worker is not in PATH' % rank)
        command = [
            program, '-q', '--stdio', '-p', 'iswitch', '--switch', switch,
            '--ranks', str(size),
            '--job', str(job), '--worker', str(rank), '--silence', '1000000h',
            '--give-up', '%dms' % max(1, 1000 * timeout)]
        if key:
            command += ['--key', key]
        if rule[0]:
            command += ['--reduce', rule[0]]
        if rule[1] > 0:
            command += ['--straggler', '%dus' % round(1e6 * rule[1])]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, bufsize=0, start_new_session=True)
        except OSError as e:
            raise Error('rank %d: %s: %s' % (rank, program, e.strerror)) from None
        self._out = self._process.stdin.fileno()
        self._in = self._process.stdout.fileno()
        for fd in (self._out, self._in):
            try:
                fcntl.fcntl(fd, F_SETPIPE_SZ, PIPE)
            except OSError:             # the limit of this user is reached
                pass
        os.set_blocking(self._out, False)
        _workers.add(self)
        self._listener = self._thread(self._listen)

    def _thread(self, target):
        t = threading.Thread(target=target, daemon=True)
        t.start()
        return t

    def send_hello(self):
        text = json.dumps({'version': 1, 'elements': RING, 'ring': True,
                           'nonfinite': True, 'name': 'innet_torch'}).encode()
        self._put([HEAD.pack(b'INET', HELLO, 0, len(text), 0, 0, 0, 0), text])

    def send_weights(self, weights):
        """Send the weights, with which the worker joins the job.  The switch accepts
        only members with the same weights."""
        self._put([HEAD.pack(b'INET', WEIGHTS, 0, weights.size, 0, 0, 0, 0),
                   weights])

    def _put(self, parts):
        """Write to the worker, and wait while the pipe is full."""
        parts = _views(parts)
        while not self._put_now(parts):
            room = select.poll()
            room.register(self._out, select.POLLOUT)
            room.poll()

    def _put_now(self, parts):
        """Write as much to the worker as fits into the pipe.  Return False if the pipe
        is full."""
        try:
            return _write(self._out, parts)
        except BrokenPipeError:         # the worker has ended; its message says why
            return True

    def send_first(self):
        """Send a vector of one element, to test whether the sum has all ranks."""
        self._put([HEAD.pack(b'INET', GRADIENT, 0, 1, 0, 0, 1, 0),
                   np.ones(1, '<f4')])

    def receive_first(self, deadline, check):
        """Wait for a message until the deadline, and return its kind, its flags, its
        number of contributions and its body.  Call check() from time to time."""
        arrival = select.poll()         # unlike select(), it allows any descriptor
        arrival.register(self._in, select.POLLIN)
        while not arrival.poll(50):     # milliseconds
            check()
            if time.monotonic() >= deadline:
                self._process.terminate()
                raise Error('rank %d: did not join the job in time: %s' % (
                    self.rank, self.last_line()))
        head = bytearray(HEAD.size)
        if not _read(self._in, [head]):
            raise self._ended()
        _, kind, flags, n, _, _, count, _ = HEAD.unpack(head)
        body = bytearray(n if kind == HELLO else 4 * n)
        if not _read(self._in, [body]):
            raise self._ended()
        return kind, flags, count, body

    def receive_hello(self, deadline, check):
        kind, _, _, text = self.receive_first(deadline, check)
        hello = json.loads(text)
        if kind != HELLO or 'floats' not in hello:
            raise Error('rank %d: %s is too old for innet_torch' % (
                self.rank, self._process.args[0]))
        self._floats = hello['floats']

    def missing(self, flags, count):
        """Return what is wrong if a sum lacks contributions, or None if it has all or
        if it may lack some.  In a partial sum, `count` is the largest number that a
        segment has."""
        if self.may_lack or (count == self.size and not flags & PARTIAL):
            return None
        what = ('a sum has %d of' % count if count != self.size else
                'a part of a sum has fewer than')
        return ('%s %d contributions; does the switch run with --straggler, or '
                'a rack without -H?' % (what, self.size))

    def _ended(self):
        """Return the exception for a worker that has ended."""
        why = self.last_line()
        return (_Retry if ': refused: ' in why else Error)(
            'rank %d: %s' % (self.rank, why))

    def last_line(self):
        """Return the last message of the worker, which has ended or ends soon."""
        self._listener.join(PATIENCE)
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            status = 0
        if status < 0 and -status != signal.SIGTERM:
            return 'innet-worker was ended by signal %d' % -status
        return (self._lines or ['innet-worker has ended'])[-1]

    def run(self):
        """Start to exchange vectors.  All ranks have joined."""
        self._threads = [self._thread(self._send), self._thread(self._receive)]

    def add(self, job):
        """Start the all_reduce `job`.  The calling thread sends a short vector itself,
        unless others must be sent before it.  It never waits for room in the pipe,
        because the room can depend on another rank that waits for this thread."""
        with self._order:
            with self._lock:
                if self.error is not None:
                    raise self.error
                self._added += 1
                job.check = _check(self._added, job.text)
                self._sent.append(job)
                rest = self._messages(job)
                if self._unsent == 0 and job.array.size <= SHORT:
                    whole = _views(p for m in rest for p in m)
                    rest = [] if self._put_now(whole) else [whole]
                if rest != []:
                    self._unsent += 1
                    self._todo.put(rest)

    def fail(self, why):
        """Fail all sums that are not complete, and all later ones."""
        with self._lock:
            if self.error is None:
                self.error = Error('rank %d: %s' % (self.rank, why))
        # the worker leaves the job, and the threads that read and write end
        self._process.terminate()
        if not self.closing:
            self._thread(self._reap)

    def _reap(self):
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self):
        """Read the worker's messages, of which the last one gives the reason for its
        end.  Print those about waits."""
        for line in self._process.stderr:
            line = line.decode(errors='replace').strip()
            line = re.sub('^innet-worker: ', '', line)
            if not line.startswith("Try '"):
                self._lines.append(line)
            wait = re.search(r': job \d+: .* for ([\d.]+) s', line)
            if wait is None:
                continue
            print('innet: rank %d: %s' % (self.rank, line), file=sys.stderr,
                  flush=True)
            silent = ('the switch does not say' in line or
                      'answer to a Join' in line)
            if ('members are needed' in line or
                    silent and float(wait.group(1)) >= self.give_up):
                self.fail(line)

    def _pieces(self, n):
        """Yield the ends of the pieces of a vector of n elements.  The first piece is
        one segment, so that its sum arrives even if the vectors of other ranks have
        other lengths."""
        end = self._floats - CHECK
        while end < n:
            yield end
            end += PIECE * self._floats
        yield n

    def _send(self):
        """Send the vectors that add() has not sent, and then the message bye."""
        while True:
            rest = self._todo.get()
            if rest is None:
                break
            for parts in rest:
                self._put(parts)
            with self._order:
                self._unsent -= 1
        with self._order:
            self._put([HEAD.pack(b'INET', BYE, 0, 0, 0, 0, 0, 0)])
            self._process.stdin.close()

    def _messages(self, job):
        """Yield the parts of each message of a vector."""
        at = 0
        for end in self._pieces(job.array.size):
            parts = [job.array[at:end]]
            if at == 0:
                parts.insert(0, job.check)
            n = sum(p.size for p in parts)
            yield [HEAD.pack(b'INET', GRADIENT, 0, n, 0, 0, 1, 0), *parts]
            at = end

    def _receive(self):
        try:
            why = self._receive_all()
        except Exception as e:          # never leave a sum without an end
            why = '%s: %s' % (type(e).__name__, e)
        self.fail(self.last_line() if why is None else why)
        self._todo.put(None)
        while self._sent:
            self._sent.popleft().work._finish(self.error)

    def _receive_all(self):
        """Receive sums.  Return the reason for the end, or None if the worker ended."""
        head, check = bytearray(HEAD.size), np.empty(CHECK, '<f4')
        while True:
            if not _read(self._in, [head]):
                return None
            job = self._sent[0]
            at = 0
            for end in self._pieces(job.array.size):
                if at > 0 and not _read(self._in, [head]):
                    return None
                _, kind, flags, n, _, _, count, _ = HEAD.unpack(head)
                parts = [job.array[at:end]]
                if at == 0:
                    parts.insert(0, check)
                if kind != RESULT or n != sum(p.size for p in parts):
                    return 'unexpected message of kind %d and length %d' % (
                        kind, n)
                if not _read(self._in, parts):
                    return None
                why = self.missing(flags, count)
                if why is not None:
                    return why
                if at == 0 and self._differs(check, count, job):
                    return self._difference(job)
                if count != self.size:
                    job.scale(at, end, self.size / count)
                at = end
            self._summed += 1
            job.finish()                # if this raises, _receive() fails the job
            self._sent.popleft()

    def _differs(self, check, count, job):
        """Does a sum of `count` vectors show that the calls of the ranks differ?  If
        ranks are late, the worker may have scaled the sum, so it is not exact."""
        if not self.may_lack:
            return (check != self.size * job.check).any()
        return (abs(check / count - job.check) > 2e-3).any()

    def _difference(self, job):
        """Return how the ranks' calls differ.  The ranks exchange their calls in the
        store."""
        name = 'call/%d' % (self._summed + 1)
        said, deadline = [], time.monotonic() + 2
        try:
            self._store.set('%s/%d' % (name, self.rank), job.text)
            for r in range(self.size):
                key = '%s/%d' % (name, r)
                try:
                    left = max(0.01, deadline - time.monotonic())
                    self._store.wait([key], datetime.timedelta(seconds=left))
                    said.append('rank %d: %s' % (
                        r, self._store.get(key).decode()))
                except Exception:       # this rank has ended, or waits elsewhere
                    pass
        except Exception:
            said = [job.text]
        return 'call %d of all_reduce differs between the ranks: %s' % (
            self._summed + 1, '; '.join(said))

    def close(self):
        """Leave the job.  It is safe to call this twice."""
        if self.closing or os.getpid() != self._pid:
            return
        self.closing = True
        with self._lock:                # afterwards add() writes nothing
            if self.error is None:
                self.error = Error('rank %d: the process group was destroyed' %
                                   self.rank)
        self._todo.put(None)
        self._reap()
        # a thread that runs while Python ends can crash the process
        for t in [*self._threads, self._listener]:
            if t is not threading.current_thread():
                t.join(PATIENCE)

    def abandon(self):
        """End a worker that has not joined its job."""
        self.closing = True
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for f in (self._process.stdin, self._process.stdout,
                  self._process.stderr):
            f.close()


def _make_worker(*arguments):
    """Return the member of the job, which uses libinnet.so if INNET_LIBRARY names
    it, and otherwise innet-worker."""
    path = os.environ.get('INNET_LIBRARY')
    if not path:
        return _Worker(*arguments)
    import innet_library
    return innet_library.member(sys.modules[__name__])(path, *arguments)


class _Start:
    """The start of a process group: the ranks agree on a number of a job through the
    store, and join this job.  If the switch refuses the number, they try another."""

    def __init__(self, store, rank, size, timeout):
        self.store, self.rank, self.size = store, rank, size
        self.timeout = timeout
        self.switch, self.key = _setting('switch'), _setting('key')
        self.reduce, self.straggler = _setting('reduce', ''), 0.0
        self.give_up = GIVE_UP

    def run(self):
        for attempt in range(ATTEMPTS):
            worker = None
            try:
                try:
                    self._check_settings()
                    self.deadline = time.monotonic() + min(self.give_up,
                                                           self.timeout)
                    weights, worker = self._prepare(attempt)
                    self._join(attempt, weights, worker)
                    return worker
                except Exception as e:
                    if not isinstance(e, (Error, _Retry)):
                        e = Error('rank %d: %s: %s' % (
                            self.rank, type(e).__name__, e))
                    self._tell(attempt, e)
                    raise e
            except _Retry as e:
                why = e
            except BaseException:
                if worker is not None:
                    worker.abandon()
                raise
            if worker is not None:
                worker.abandon()
        raise Error('%s (after %d numbers of jobs)' % (why, ATTEMPTS))

    def _check_settings(self):
        if not self.switch:
            raise Error('rank %d: INNET_SWITCH is not set; set it to the '
                        'HOST:PORT of the switch' % self.rank)
        self.give_up = self._seconds('give_up', GIVE_UP)
        self.straggler = self._seconds('straggler', 0)
        if self.straggler < 0 or 0 < self.straggler < 1e-6 or self.straggler > 3600:
            raise Error('rank %d: straggler: %g s is not between 1 microsecond and 1 '
                        'hour' % (self.rank, self.straggler))

    def _seconds(self, name, default):
        text = _setting(name, default)
        try:
            return float(text)
        except (TypeError, ValueError):
            raise Error('rank %d: INNET_%s: %s is not a number of seconds' % (
                self.rank, name.upper(), text)) from None

    def _key(self, attempt, name):
        return '%s/%d' % (name, attempt)

    def _count(self, attempt, name, n=0):
        """Add n to a number in the store, and return the number."""
        return self.store.add(self._key(attempt, name), n)

    def _tell(self, attempt, e):
        """Tell the other ranks why this rank cannot join, unless another rank has told
        them its reason.  The store usually ends with rank 0, so rank 0 waits until
        the others have read the reason."""
        kind = 'retry' if isinstance(e, _Retry) else 'error'
        try:
            if self._count(attempt, 'failing', 1) == 1:
                self.store.set(self._key(attempt, 'why'), kind + ' ' + str(e))
                self._count(attempt, 'failed', 1)
            self._count(attempt, 'read', 1)
            deadline = time.monotonic() + READ
            while (self.rank == 0 and time.monotonic() < deadline and
                   self._count(attempt, 'read') < self.size):
                time.sleep(0.02)
        except Exception:               # the store has ended
            pass

    def _check_others(self, attempt):
        """Raise an exception if another rank cannot join."""
        if self._count(attempt, 'failed') == 0:
            return
        kind, why = self.store.get(
            self._key(attempt, 'why')).decode().split(' ', 1)
        raise (_Retry if kind == 'retry' else Error)(why)

    def _mark(self, attempt, name):
        """Tell the other ranks that this rank has reached a step of the start."""
        self._count(attempt, '%s/%d' % (name, self.rank), 1)
        self._count(attempt, name, 1)

    def _await(self, attempt, name, ranks):
        """Wait until all these ranks have reached a step of the start."""
        pause = 0.002
        while self._count(attempt, name) < len(ranks):
            self._check_others(attempt)
            if time.monotonic() >= self.deadline:
                late = [r for r in ranks
                        if self._count(attempt, '%s/%d' % (name, r)) == 0]
                if late:
                    raise Error('rank %d: rank %s has not %s in time' % (
                        self.rank, ', '.join(map(str, late)), name))
            time.sleep(pause)
            pause = min(0.1, 2 * pause)

    def _rule(self):
        return 'reduce=%r, straggler=%g' % (self.reduce, self.straggler)

    def _prepare(self, attempt):
        """Agree on a job, and start innet-worker.  Return the weights of the job and
        the worker."""
        key = self._key(attempt, 'job')
        if self.rank == 0:
            self.store.set(key, os.urandom(14).hex() + ' ' + self._rule())
            self._mark(attempt, 'drawn a job')
        self._await(attempt, 'drawn a job', [0])
        drawn, rule = self.store.get(key).decode().split(' ', 1)
        if rule != self._rule():
            raise Error('rank %d: it has %s, but rank 0 has %s; give all ranks the '
                        'same' % (self.rank, self._rule(), rule))
        drawn = bytes.fromhex(drawn)
        job = 1 + int.from_bytes(drawn[:2], 'little') % 65535
        weights = np.array([self.size, *drawn[2:]], '<f4')
        worker = _make_worker(self.switch, self.key, job, self.rank, self.size,
                              self.timeout, self.give_up, self.store,
                              (self.reduce, self.straggler))
        try:
            worker.send_hello()
            self._mark(attempt, 'started')
            self._await(attempt, 'started', range(self.size))
        except BaseException:
            worker.abandon()
            raise
        return weights, worker

    def _join(self, attempt, weights, worker):
        """Join the job, and wait until all ranks have joined.  A first sum shows whether
        the switch adds the vectors of all ranks."""
        def check():
            self._check_others(attempt)

        worker.send_weights(weights)
        worker.receive_hello(self.deadline, check)
        self._mark(attempt, 'joined')
        self._await(attempt, 'joined', range(self.size))
        worker.send_first()
        _, flags, count, _ = worker.receive_first(self.deadline, check)
        why = worker.missing(flags, count)
        if why is not None:
            raise _Retry('rank %d: %s: %s' % (self.rank, self.switch, why))
        self._mark(attempt, 'summed')
        self._await(attempt, 'summed', range(self.size))


def _seconds(timeout):
    """Return a timeout of torch.distributed in seconds."""
    return 1800.0 if timeout is None else min(1e8, timeout.total_seconds())


class _Group(dist.ProcessGroup):
    """A process group whose all_reduce of floats runs through the switch.  C++ code
    calls the methods of a Work object without a reference to its Python part, so the
    group keeps the last HELD of them."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._ranks = size
        self._gloo = dist.ProcessGroupGloo(
            dist.PrefixStore('gloo', store), rank, size,
            timeout=datetime.timedelta(seconds=_seconds(timeout)))
        self._held = collections.deque(maxlen=HELD)
        self._worker = _Start(dist.PrefixStore('innet', store), rank, size,
                              _seconds(timeout)).run()
        self._worker.run()
        self._close = weakref.finalize(self, self._worker.close)

    def getBackendName(self):
        return 'innet'

    def allreduce(self, tensors, opts=None):
        if isinstance(tensors, torch.Tensor):
            tensors = [tensors]
        op = getattr(opts, 'reduceOp', ReduceOp.SUM if opts is None else opts)
        if len(tensors) != 1 or not self._sums(tensors, op):
            return self._gloo.allreduce(tensors, *(() if opts is None else (opts,)))
        return self._start(tensors, op)

    def allreduce_coalesced(self, tensors, opts=None):
        op = getattr(opts, 'reduceOp', ReduceOp.SUM)
        if not self._sums(tensors, op):
            return self._gloo.allreduce_coalesced(
                tensors, *(() if opts is None else (opts,)))
        return self._start(tensors, op)

    def _sums(self, tensors, op):
        """Can the switch compute this all_reduce?"""
        return op in (ReduceOp.SUM, ReduceOp.AVG) and all(
            t.dtype in FLOATS and t.layout == torch.strided for t in tensors)

    def _start(self, tensors, op):
        job = _Sum(list(tensors), self._ranks if op == ReduceOp.AVG else 1)
        if job.array.size == 0:
            job.work._finish()
        else:
            self._worker.add(job)
        self._held.append(job.work)
        return job.work

    def shutdown(self):
        self._close()

    abort = shutdown


def _delegate(name):
    def call(self, *args, **kwargs):
        return getattr(self._gloo, name)(*args, **kwargs)
    call.__name__ = name
    return call


# C++ code looks for these methods in the class, and 2.x has more of them than 1.13.
for _name in dir(dist.ProcessGroupGloo):
    if re.match(r'_?(all|barrier|broadcast|gather|monitored|recv|reduce|'
                r'scatter|send)', _name) and _name not in vars(_Group):
        setattr(_Group, _name, _delegate(_name))
for _name in ('_set_sequence_number_for_group', '_get_sequence_number_for_group'):
    setattr(_Group, _name, _delegate(_name))


def _create(store, rank, size, timeout):
    return _Group(store, rank, size, timeout)


def _rendezvous(url, **kwargs):
    """Handle init_method='innet://HOST:PORT?key=FILE'.  The ranks meet as they do with
    env://."""
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    _url.update({'switch': parts.netloc or None, **{
        k: v for k, v in query.items()
        if k in ('key', 'give_up', 'reduce', 'straggler')}})
    yield from dist.rendezvous('env://', int(query.get('rank', -1)),
                               int(query.get('world_size', -1)), **kwargs)


def _register():
    import inspect

    more = {}
    if 'devices' in inspect.signature(dist.Backend.register_backend).parameters:
        more['devices'] = ['cpu', 'cuda']
    dist.Backend.register_backend('innet', _create, **more)
    dist.register_rendezvous_handler('innet', _rendezvous)


def ddp_hook(group, bucket):
    """Use this as the communication hook of DistributedDataParallel, if the other
    collectives use another backend:

        group = torch.distributed.new_group(backend='innet')
        model.register_comm_hook(group, innet_torch.ddp_hook)
    """
    group = distributed_c10d._get_default_group() if group is None else group
    buffer = bucket.buffer()
    buffer.div_(group.size())
    work = group.allreduce([buffer])
    return work.get_future().then(lambda f: f.value()[0])


def _tensor(x):
    """Return the tensor of an argument of Ray, which passes each tensor or array in a
    list."""
    x = x[0] if isinstance(x, list) else x
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def _tensors(x):
    return [_tensor(t) for t in (x[0] if isinstance(x[0], list) else x)]


def _ray_op(options):
    """Return the operation of Ray's options, or SUM if there are none."""
    name = 'SUM' if options is None else options.reduceOp.name
    return getattr(ReduceOp, {'AVERAGE': 'AVG'}.get(name, name))


def ray_group():
    """Return a class for the registry of ray.util.collective.  Call this in the driver
    and in each actor:

        register_collective_backend('INNET', innet_torch.ray_group())

    The ranks meet with MASTER_ADDR and MASTER_PORT, which the actors must set."""
    from ray.util.collective.collective_group.base_collective_group import (
        BaseGroup)

    class InnetGroup(BaseGroup):
        """A group of ray.util.collective that sums in the network."""

        def __init__(self, world_size, rank, group_name):
            super().__init__(world_size, rank, group_name)
            self._first = not dist.is_initialized()
            if self._first:
                dist.init_process_group('innet', init_method='env://',
                                        world_size=world_size, rank=rank)
                self._group = distributed_c10d._get_default_group()
            else:
                self._group = dist.new_group(list(range(world_size)),
                                             backend='innet')

        @classmethod
        def backend(cls):
            return 'INNET'

        @classmethod
        def check_backend_availability(cls):
            return (_program() or os.environ.get('INNET_LIBRARY')) is not None

        def destroy_group(self):
            dist.destroy_process_group(None if self._first else self._group)
            self._group = None

        def allreduce(self, tensor, allreduce_options=None):
            dist.all_reduce(_tensor(tensor), _ray_op(allreduce_options),
                            self._group)

        def barrier(self, barrier_options=None):
            dist.barrier(self._group)

        def reduce(self, tensor, reduce_options=None):
            t = _tensor(tensor)
            root = getattr(reduce_options, 'root_rank', 0)
            # the tensors of the other ranks must not change
            dist.reduce(t if self._rank == root else t.clone(), root,
                        _ray_op(reduce_options), self._group)

        def broadcast(self, tensor, broadcast_options=None):
            dist.broadcast(_tensor(tensor),
                           getattr(broadcast_options, 'root_rank', 0),
                           self._group)

        def allgather(self, tensor_list, tensor, allgather_options=None):
            dist.all_gather(_tensors(tensor_list), _tensor(tensor), self._group)

        def reducescatter(self, tensor, tensor_list, reducescatter_options=None):
            op = _ray_op(reducescatter_options)
            for r, t in enumerate(_tensors(tensor_list)):
                whole = t.clone()       # gloo has no reduce_scatter
                dist.all_reduce(whole, op, self._group)
                if r == self._rank:
                    _tensor(tensor).copy_(whole)

        def send(self, tensor, send_options):
            dist.send(_tensor(tensor), send_options.dst_rank, self._group)

        def recv(self, tensor, recv_options):
            dist.recv(_tensor(tensor), recv_options.src_rank, self._group)

    return InnetGroup


def main(argv):
    """Run a script with the backend registered."""
    import innet_torch                  # not this copy, which is __main__

    if len(argv) < 2 or argv[1] in ('-h', '--help'):
        print('usage: python3 -m innet_torch SCRIPT [ARGUMENT...]\n'
              '       python3 -m innet_torch -m MODULE [ARGUMENT...]\n'
              'Run a script that can use the backend innet of '
              'torch.distributed.', file=sys.stderr if len(argv) < 2 else None)
        return 2 if len(argv) < 2 else 0
    if argv[1] == '-m' and len(argv) > 2:
        sys.argv = argv[2:]
        runpy.run_module(argv[2], run_name='__main__', alter_sys=True)
    else:
        sys.argv = argv[1:]
        sys.path[0] = os.path.dirname(os.path.abspath(argv[1]))
        runpy.run_path(argv[1], run_name='__main__')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
_register()
