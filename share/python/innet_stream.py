"""Train across a network: use the gradient stream of innet-worker from Python.

Run your script as the command of innet-worker.  With a PyTorch optimizer:

    import innet_stream
    stream = innet_stream.wrap(optimizer)       # after the weights exist
    torch.manual_seed(1 + stream.worker)        # each worker plays differently
    for batch in batches:                       # your loop does not change
        optimizer.zero_grad()
        loss(batch).backward()
        optimizer.step()                        # uses the mean of all workers

With flat vectors of float32 from any other library:

    with innet_stream.Stream(weights, name='mine') as stream:
        for step in range(1000):
            weights -= 0.01 * stream.mean(gradient(weights, stream.worker))

All workers must begin with the same weights.  The stream uses standard input
and output.  The import takes them over, so print() writes to standard error.
When the other side ends the training, the exception End is raised.  If the
script does not catch it, the script ends with status 0.  The module needs numpy,
and wrap() also needs torch.  innet-stream(5) specifies the format, and
innet_stream(3) describes this module.
"""
import fcntl
import io
import json
import os
import select
import stat
import struct
import sys
import time
import types
import typing

import numpy as np

__all__ = ['End', 'Error', 'Result', 'Stream', 'wrap']

HELLO, GRADIENT, RESULT, WEIGHTS, BYE, STATE = range(1, 7)
MODEL, PARTIAL, MORE = 1, 2, 4
HEAD = struct.Struct('<4sHHIfQII')
HELLO_MAX = 65536                       # bytes
STATE_MAX = 1 << 30                     # bytes
PIPE = 1 << 20                          # bytes; the limit for unprivileged users
F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032


class Error(Exception):
    """The stream failed; the text gives the reason in one line."""


class End(SystemExit):
    """The other side has ended the training.  If uncaught, it ends the script with status 0."""


class Result(typing.NamedTuple):
    """An answer to a gradient.  Its vector is valid until the next exchange."""
    vector: typing.Optional[np.ndarray]  # None: no newer vector
    contributions: int                  # gradients in the sum
    iteration: int
    staleness: int                      # in iterations
    model: bool                         # the vector is new weights, not a sum
    partial: bool                       # fewer contributions than expected


def _vector(x):
    """Return x as a flat vector of float32, without a copy if x already is one."""
    if hasattr(x, 'detach'):            # a tensor, even one with a gradient
        x = x.detach()
    return np.ascontiguousarray(x, '<f4').reshape(-1)


def _take(fd, instead):
    """Return a copy of a standard descriptor, non-blocking and with a large buffer.
    `instead` replaces the descriptor, so that other code cannot use the stream."""
    ours = os.dup(fd)
    os.dup2(instead, fd)
    os.set_blocking(ours, False)
    try:
        if fcntl.fcntl(ours, F_GETPIPE_SZ) < PIPE:
            fcntl.fcntl(ours, F_SETPIPE_SZ, PIPE)
    except OSError:                     # not a pipe, or the limit is reached
        pass
    return ours


def _claim():
    """Take over standard input and output.  Afterwards print() writes to standard error."""
    null = os.open(os.devnull, os.O_RDONLY)
    ours = _take(0, null), _take(1, 2)
    os.close(null)
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(line_buffering=True)     # and flushes it
    return ours


# If both are pipes, take them over on import, before the script prints anything.
_ours = (_claim() if all(stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (0, 1))
         else None)


def _pipes():
    """Return the descriptors of input and output.  This works once in a process."""
    global _ours
    if _ours == ():
        raise Error('this process has already opened its stream')
    if _ours is None:
        for fd, name in enumerate(('input', 'output')):
            if os.isatty(fd):
                raise Error('standard %s is a terminal: run this as a command '
                            'of innet-worker(1)' % name)
        _ours = _claim()
    ours, _ours = _ours, ()
    return ours


class Stream:
    """The stream to innet-worker, from its hello to its end.

    `weights` are the first weights, which must be the same for all workers.
    Their number is the length of all vectors.  If the weights come from a
    snapshot, `iteration` is its iteration, otherwise 0.  No wait takes longer
    than `timeout` seconds.

    The attributes worker, members and mode come from the hello of innet-worker;
    `hello` is the complete hello.  `reward` is sent with each gradient.  `ended`
    is true after End was raised, for callers that get another exception instead.

    `gradients` is the direction of the gradients: 'up' or 'down'.  Accordingly,
    innet-worker --async adds or subtracts them.

    give() returns the state that another worker needs to continue, as bytes.
    take(bytes) continues from such a state.  If both are given, workers that
    fail can be replaced.  A state that was taken over is not a Result: results()
    then ends without a Result, and the next gradient must be computed from the
    new weights.
    """

    def __init__(self, weights, name=None, iteration=0, timeout=600.0,
                 give=None, take=None, gradients=None):
        if (give is None) != (take is None):
            raise Error('give and take must be used together')
        weights = _vector(weights)
        self.elements = weights.size
        self.iteration = iteration      # of the newest vector received
        self.reward = 0.0
        self.timeout = timeout
        self.sent = 0                   # number of gradients
        self.ended = False
        self._owed = False              # a result has not been read yet
        self._give, self._take = give, take
        self._into = None               # default buffer for results
        self._head = bytearray(HEAD.size)
        self._in, self._out = _pipes()
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._in, select.POLLIN)
        self._writable.register(self._out, select.POLLOUT)
        text = {'version': 1, 'elements': self.elements}
        if name is not None:
            text['name'] = name
        if give is not None:
            text['state'] = True
        if gradients is not None:
            text['gradients'] = gradients
        self._send(HELLO, np.frombuffer(json.dumps(text).encode(), 'u1'))
        self._send(WEIGHTS, weights)
        kind, _, n, _, _, _ = self._receive('hello')
        if kind != HELLO or n > HELLO_MAX:
            raise Error('the first message is not a hello, but has kind %d and '
                        'length %d' % (kind, n))
        text = bytearray(n)
        self._read(memoryview(text), 'the rest of the hello')
        try:
            self.hello = json.loads(text)
            self.worker = self.hello.get('worker', 0)
            self.members = self.hello.get('members', 0)
            self.mode = self.hello.get('mode', '')
        except (ValueError, AttributeError):
            raise Error('the hello is not a JSON object: %.60r' %
                        bytes(text)) from None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()

    def results(self, gradient, reward=None, out=None):
        """Send a gradient and return an iterator over its results, of which there
        is usually one.  Their vectors are written to `out` or, if `out` is None, to
        an array of the stream.  If `out` is the gradient, it is overwritten."""
        if self._owed:
            raise Error('not all results of gradient %d have been read' %
                        self.sent)
        gradient = _vector(gradient)
        if gradient.size != self.elements:
            raise Error('a gradient of %d elements, but there are %d weights'
                        % (gradient.size, self.elements))
        if reward is not None:
            self.reward = reward
        if out is None:
            if self._into is None:
                self._into = np.empty(self.elements, '<f4')
            out = self._into
        elif (out.dtype != '<f4' or not out.flags.c_contiguous or
              out.size != self.elements):
            raise Error('out is not a contiguous array of %d float32' %
                        self.elements)
        self.sent += 1
        self._send(GRADIENT, gradient)
        self._owed = True
        return self._results(out)

    def exchange(self, gradient, reward=None, out=None):
        """Send a gradient and return its Result.  If several models arrive, return
        the newest one.  If a state was taken over instead, return None.  If several
        sums arrive, raise Error; use results() in that case."""
        last, sums = None, 0
        for r in self.results(gradient, reward, out):
            sums += r.vector is not None and not r.model
            if last is None or r.vector is not None:
                last = r
        if sums > 1:
            raise Error('%d sums for gradient %d, because rounds continued '
                        'without this worker; use results()' %
                        (sums, self.sent))
        return last

    def mean(self, gradient, reward=None, out=None):
        """Send a gradient and return the mean of all workers' gradients, or None if a
        state was taken over instead.  Use this in modes that return sums."""
        r = self.exchange(gradient, reward, out)
        if r is None:
            return None
        if r.model or r.vector is None:
            raise Error('the result of gradient %d is a model, not a sum: in '
                        '%s mode use exchange()' % (self.sent, self.mode))
        return np.divide(r.vector, r.contributions, out=r.vector)

    def close(self):
        """Tell innet-worker that training is over.  It is safe to call this twice."""
        if self._out == -1:
            return
        try:
            self._send(BYE, np.empty(0, 'u1'))
        except End:
            pass                        # the other side has closed already
        os.close(self._in)
        os.close(self._out)
        self._in = self._out = -1

    def _results(self, out):
        body = memoryview(out.reshape(-1)).cast('B')
        more = True
        while more:
            kind, flags, n, iteration, count, stale = self._receive('result')
            if kind == BYE:
                self._end()
            if kind == STATE and self._give is not None:
                if flags & MODEL:
                    self._adopt(n, iteration)
                    self._owed = False
                    return
                state = bytearray(self._give())
                self._send(STATE, np.frombuffer(state, 'u1') if state else
                           np.empty(0, 'u1'))
                continue
            if kind != RESULT:
                raise Error('message of kind %d while waiting for the result '
                            'of gradient %d' % (kind, self.sent))
            if n not in (0, self.elements):
                raise Error('result of %d elements for gradient %d of %d' %
                            (n, self.sent, self.elements))
            if n and not flags & MODEL and count == 0:
                raise Error('sum of no contributions for gradient %d' %
                            self.sent)
            if n:
                self._read(body, 'the rest of the result')
                self.iteration = iteration
            more = flags & MORE != 0
            self._owed = more
            yield Result(out if n else None, count, iteration, stale,
                         flags & MODEL != 0, flags & PARTIAL != 0)

    def _adopt(self, n, iteration):
        """Read the state of another worker, which has n bytes, and continue from it."""
        if n > STATE_MAX:
            raise Error('a state of %d bytes' % n)
        state = bytearray(n)
        self._read(memoryview(state), 'the rest of the state')
        self._take(bytes(state))
        self.iteration = iteration

    def _end(self):
        self.ended = True
        raise End(0) from None

    def _wait(self, poller, due, what):
        """Wait until the pipe of `poller` is ready; raise Error with `what` at the time `due`."""
        left = due - time.monotonic()
        if left <= 0 or not poller.poll(1000 * left):
            raise Error('%s within %g s, after %d gradients' %
                        (what, self.timeout, self.sent))

    def _send(self, kind, body):
        if self._out == -1:
            raise Error('the stream is closed')
        training = kind == GRADIENT
        head = HEAD.pack(b'INET', kind, 0, body.size,
                         self.reward if training else 0.0,
                         self.iteration, 1 if training else 0, 0)
        parts = [memoryview(head), memoryview(body).cast('B')]
        due = time.monotonic() + self.timeout
        while parts:
            try:
                n = os.writev(self._out, parts)
            except BlockingIOError:
                self._wait(self._writable, due, 'innet-worker read nothing')
                continue
            except BrokenPipeError:
                self._end()
            while parts and n >= len(parts[0]):
                n -= len(parts.pop(0))
            if parts:
                parts[0] = parts[0][n:]

    def _read(self, view, what):
        """Fill view.  Return False if the stream ends before the first byte of a header."""
        done, size = 0, len(view)
        due = time.monotonic() + self.timeout
        while done < size:
            try:
                n = os.readv(self._in, [view[done:]])
            except BlockingIOError:
                self._wait(self._readable, due, 'no %s arrived' % what)
                continue
            if n == 0:
                if done == 0 and size == HEAD.size:
                    return False
                raise Error('the stream ends in the middle of a message, '
                            'after %d gradients' % self.sent)
            done += n
        return True

    def _receive(self, what):
        """Return the next header: kind, flags, elements, iteration, contributions,
        staleness."""
        if not self._read(memoryview(self._head), what):
            self._end()
        magic, kind, flags, n, _, iteration, count, stale = HEAD.unpack(
            self._head)
        if magic != b'INET':
            raise Error('a message (expected: %s) begins with %r and not with '
                        'INET' % (what, magic))
        return kind, flags, n, iteration, count, stale


def _replace(path, write):
    """Replace the file at path by the file that write() writes, completely or not at
    all.  The previous file remains as path + '.old'."""
    new, old = path + '.tmp', path + '.old'
    with open(new, 'wb') as f:
        write(f)
        f.flush()
        os.fsync(f.fileno())
    if os.path.exists(path):
        try:
            os.link(path, old + '.tmp')
            os.replace(old + '.tmp', old)
        except OSError:                 # left by a crash, or the file system has no links
            os.replace(path, old)
    os.replace(new, path)


def _each(change, x):
    """Return x with every value in its dicts, lists and tuples converted."""
    if isinstance(x, dict):
        return {k: _each(change, v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_each(change, v) for v in x)
    return change(x)


# Floats are stored as text: torch 1.13 cannot load them with weights_only.
def _freeze(x):
    return 'float ' + x.hex() if isinstance(x, float) else x


def _thaw(x):
    if isinstance(x, str) and x.startswith('float '):
        return float.fromhex(x[6:])
    return x


def _put(torch, f, params, optimizer, iteration):
    """Write the parameters and the optimizer's state to the file f."""
    torch.save({
        'innet': 1, 'iteration': iteration, 'kind': type(optimizer).__name__,
        'parameters': [p.detach() for p in params],
        'optimizer': _each(_freeze, optimizer.state_dict())}, f)


def _restore(torch, f, path, params, optimizer):
    """Load the parameters and the optimizer's state from the file f.  Messages call it
    `path`.  Return the iteration of the parameters."""
    try:
        # only tensors, numbers and containers; code in the file is not run
        kept = torch.load(f, map_location='cpu', weights_only=True)
    except OSError as e:
        raise Error('%s: %s' % (path, e.strerror)) from None
    except Exception:                   # damaged bytes can raise any exception
        raise Error('%s: the checkpoint is truncated or damaged, or the file '
                    'is not a checkpoint' % path) from None
    if not isinstance(kept, dict) or kept.get('innet') != 1:
        raise Error('%s: the file is not a checkpoint of wrap()' % path)
    shapes = [tuple(p.shape) for p in params]
    if [tuple(v.shape) for v in kept['parameters']] != shapes:
        raise Error('%s: the parameters have other shapes than those of the '
                    'optimizer' % path)
    if kept['kind'] != type(optimizer).__name__:
        raise Error('%s: the checkpoint is of %s, not of %s' % (
            path, kept['kind'], type(optimizer).__name__))
    optimizer.load_state_dict(_each(_thaw, kept['optimizer']))
    with torch.no_grad():
        for p, v in zip(params, kept['parameters']):
            p.copy_(v)
    return kept['iteration']


def wrap(optimizer, name=None, iteration=0, timeout=600.0, save=None,
         save_every=0, load=None):
    """Make the step() of a torch optimizer use the mean of all workers' gradients or,
    if weights arrive instead, use these weights.  Return the Stream.  Every
    save_every iterations, step() writes the parameters and the optimizer's state to
    the file `save`.  `load` is such a file, from which training continues.  A worker
    that joins late gets the parameters and the state from a running worker."""
    import torch

    if (save is None) != (save_every == 0):
        raise Error('save and save_every must be used together')
    params = [p for g in optimizer.param_groups for p in g['params']]
    if load is not None:
        iteration = _restore(torch, os.fspath(load), os.fspath(load), params,
                             optimizer)
    sizes = [p.numel() for p in params]

    def views(flat):                    # a view of each parameter's part
        return [v.view_as(p) for v, p in zip(flat.split(sizes), params)]

    flat = torch.empty(sum(sizes))
    with torch.no_grad():
        for p, v in zip(params, views(flat)):
            v.copy_(p)

    def give():
        f = io.BytesIO()
        _put(torch, f, params, optimizer, stream.iteration)
        return f.getvalue()

    def take(state):
        _restore(torch, io.BytesIO(state), "another worker's state", params,
                 optimizer)

    stream = Stream(flat, name, iteration, timeout, give, take, 'down')
    sent = views(flat)
    # after the first sum, p.grad is a part of flat; a model must not overwrite it
    into = flat if stream.mode in ('sync', 'dlp') else torch.empty_like(flat)
    came, array, out = views(into), flat.numpy(), into.numpy()
    alone = optimizer.step              # the optimizer's own step
    saved = iteration

    def keep():
        nonlocal saved
        if save is None or stream.iteration // save_every <= (
                saved // save_every):
            return
        saved = stream.iteration
        _replace(os.fspath(save), lambda f: _put(
            torch, f, params, optimizer, saved))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for p, v in zip(params, sent):
            if p.grad is None:
                v.zero_()
            elif p.grad.data_ptr() != v.data_ptr():
                v.copy_(p.grad)
        for r in stream.results(array, out=out):
            if r.vector is None:
                continue
            if r.model:
                for p, v in zip(params, came):
                    p.copy_(v)
                continue
            into.div_(r.contributions)
            for p, v in zip(params, came):
                p.grad = v.to(p)        # not copied if it has the type and device of p
            alone()
        keep()
        return loss

    optimizer.step = types.MethodType(step, optimizer)
    return stream
