"""The functions of libinnet.so for ctypes: innet_worker(3) describes them.

innet_torch uses this module if INNET_LIBRARY names the library.
"""
import ctypes
import os
import re
import sys
import threading
import time

import numpy as np

LOOK = 0.2                              # seconds between looks at a sum that waits


class Options(ctypes.Structure):
    """struct innet_worker_options of innet_worker.h"""
    _fields_ = [('size', ctypes.c_size_t), ('address', ctypes.c_char_p),
                ('key', ctypes.c_char_p), ('auth', ctypes.c_char_p),
                ('session', ctypes.c_void_p), ('session_bytes', ctypes.c_size_t),
                ('job', ctypes.c_uint32), ('rank', ctypes.c_uint32),
                ('ranks', ctypes.c_uint32), ('ring', ctypes.c_uint32),
                ('mtu', ctypes.c_uint32), ('give_up_ns', ctypes.c_uint64),
                ('join_timeout_ns', ctypes.c_uint64),
                ('silence_ns', ctypes.c_uint64), ('spin_ns', ctypes.c_uint64),
                ('impair', ctypes.c_char_p), ('reduce', ctypes.c_char_p),
                ('straggler_ns', ctypes.c_uint64)]


class Count(ctypes.Structure):
    """struct innet_worker_count of innet_worker.h"""
    _fields_ = [('most', ctypes.c_uint32), ('least', ctypes.c_uint32)]


def load(path):
    """Return libinnet.so with the types of its functions."""
    lib = ctypes.CDLL(path)
    handle, number = ctypes.c_void_p, ctypes.c_uint64
    lib.innet_worker_join.restype = handle
    lib.innet_worker_join.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.innet_worker_start.restype = number
    lib.innet_worker_start.argtypes = [handle, ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.c_size_t, ctypes.c_void_p]
    lib.innet_worker_wait.argtypes = [handle, number, number]
    lib.innet_worker_floats.restype = ctypes.c_uint32
    lib.innet_worker_floats.argtypes = [handle]
    lib.innet_worker_error.argtypes = [handle, ctypes.c_char_p]
    lib.innet_worker_leave.restype = None
    lib.innet_worker_leave.argtypes = [handle]
    return lib


def member(innet):
    """Return a class that the module innet_torch can use instead of its class
    _Worker."""

    class Member(innet._Worker):
        """A member of the group's job through libinnet.so, without a child process.  On
        the network it looks like a _Worker, so a group can have both."""

        def __init__(self, path, switch, key, job, rank, size, timeout, give_up,
                     store, rule):
            self._describe(job, rank, size, give_up, store, rule)
            # the lock is held while the handle is used, except by the thread
            # _receive(), which frees it
            self._handle = None
            self._reported = ''
            self._count_type = Count
            try:
                self._lib = load(path)
            except OSError as e:
                raise innet.Error('rank %d: INNET_LIBRARY: %s' % (rank, e)) from None
            self._options = Options(
                size=ctypes.sizeof(Options), address=switch.encode(),
                key=key.encode() if key else None, job=job, rank=rank, ranks=size,
                ring=innet.RING, give_up_ns=max(1, int(1e9 * timeout)),
                reduce=rule[0].encode() or None, straggler_ns=round(1e9 * rule[1]))

        def send_hello(self):
            pass

        def send_weights(self, weights):
            self._weights = weights.tobytes()
            self._options.session = ctypes.cast(self._weights, ctypes.c_void_p)
            self._options.session_bytes = len(self._weights)

        def _join(self, why):
            handle = self._lib.innet_worker_join(ctypes.byref(self._options), why)
            with self._lock:
                if not self.closing:
                    self._handle, handle = handle, None
            if handle:
                self._lib.innet_worker_leave(handle)

        def receive_hello(self, deadline, check):
            why = ctypes.create_string_buffer(1024)
            left = max(0.001, deadline - time.monotonic())
            self._options.join_timeout_ns = int(1e9 * left)
            t = self._thread(lambda: self._join(why))
            while t.is_alive():
                check()
                t.join(0.05)
            if self._handle is None:
                text = why.value.decode(errors='replace')
                raise (innet._Retry if ': refused: ' in text else innet.Error)(
                    'rank %d: %s' % (self.rank, text))
            self._floats = self._lib.innet_worker_floats(self._handle)

        def _start(self, array, count):
            p = array.ctypes.data
            return self._lib.innet_worker_start(self._handle, p, p, array.size,
                                                ctypes.byref(count))

        def _last_error(self):
            text = ctypes.create_string_buffer(1024)
            self._lib.innet_worker_error(self._handle, text)
            return text.value.decode(errors='replace')

        def send_first(self):
            self._one, self._count = np.ones(1, '<f4'), self._count_type()
            self._first = self._start(self._one, self._count)

        def receive_first(self, deadline, check):
            while True:
                state = self._lib.innet_worker_wait(self._handle, self._first,
                                                    50000000)
                if state == 0:
                    break
                check()
                if state < 0 or time.monotonic() >= deadline:
                    raise innet.Error('rank %d: %s%s' % (
                        self.rank, '' if state < 0 else
                        'did not join the job in time: ', self._last_error()))
            return innet.RESULT, self._flags(self._count), self._count.most, self._one

        def _flags(self, count):
            return innet.PARTIAL if count.least < self.size else 0

        def run(self):
            self._threads = [self._thread(self._receive)]

        def add(self, job):
            """Start the all_reduce `job`.  The two elements of _check() share the first
            segment with the first elements of the vector; all other elements are sent
            from the vector and received into it."""
            with self._lock:
                if self.error is not None:
                    raise self.error
                self._added += 1
                job.check = innet._check(self._added, job.text)
                rest = job.array[self._floats - innet.CHECK:]
                job.first = np.concatenate(
                    [job.check, job.array[:self._floats - innet.CHECK]])
                job.parts = [(a, self._count_type()) for a in (job.first, rest)
                             if a.size > 0]
                job.tickets = [self._start(a, c) for a, c in job.parts]
                self._todo.put(job)

        def _report(self, text):
            """Print why a sum waits.  Return the text if the group must fail."""
            _, _, reason = text.partition(' s; ')
            wait = re.search(r' for ([\d.]+) s', reason)
            if wait is None or reason == self._reported:
                return None
            self._reported = reason
            line = '%s: job %d: %s' % (self._options.address.decode(), self.job, reason)
            print('innet: rank %d: %s' % (self.rank, line), file=sys.stderr,
                  flush=True)
            silent = ('the switch does not say' in line or
                      'answer to a Join' in line)
            return line if ('members are needed' in line or silent and
                            float(wait.group(1)) >= self.give_up) else None

        def _wait(self, ticket):
            """Wait for a part of a sum.  Return the reason for a failure, or None."""
            while not self.closing:
                state = self._lib.innet_worker_wait(self._handle, ticket,
                                                    int(1e9 * LOOK))
                if state == 0:
                    return None
                why = self._last_error()
                if state > 0:
                    why = self._report(why)
                if why is not None:
                    return why
            return 'the process group was destroyed'

        def _receive_sum(self, job):
            for ticket, (array, count) in zip(job.tickets, job.parts):
                why = self._wait(ticket)
                if why is None:
                    why = self.missing(self._flags(count), count.most)
                if why is not None:
                    return why
                if ticket == job.tickets[0] and self._differs(
                        job.first[:innet.CHECK], count.most, job):
                    return self._difference(job)
                if count.most != self.size:
                    array *= self.size / count.most
            job.array[:self._floats - innet.CHECK] = job.first[innet.CHECK:]
            self._summed += 1
            job.finish()
            return None

        def _receive(self):
            while True:
                job = self._todo.get()
                if job is None:
                    break
                if self.error is None:
                    try:
                        why = self._receive_sum(job)
                    except Exception as e:  # never leave a sum without an end
                        why = '%s: %s' % (type(e).__name__, e)
                    if why is not None:
                        self.fail(why)
                if self.error is not None:
                    job.work._finish(self.error)

        def fail(self, why):
            with self._lock:
                if self.error is None:
                    self.error = innet.Error('rank %d: %s' % (self.rank, why))
            self._leave()

        def _leave(self):
            with self._lock:
                handle, self._handle = self._handle, None
            if handle:
                self._lib.innet_worker_leave(handle)

        def close(self):
            if self.closing or os.getpid() != self._pid:
                return
            with self._lock:
                self.closing = True
                if self.error is None:
                    self.error = innet.Error(
                        'rank %d: the process group was destroyed' % self.rank)
            self._todo.put(None)
            for t in self._threads:
                if t is not threading.current_thread():
                    t.join(innet.PATIENCE)
            self._leave()

        def abandon(self):
            with self._lock:
                self.closing = True
            self._leave()

    return Member
