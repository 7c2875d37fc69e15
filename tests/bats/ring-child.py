"""A child of innet-worker that sends vectors of any length and checks their sums.

    ring-child.py WORKERS RING DEPTH LENGTH...

The child sends a vector of each length through a ring of RING elements, with at
most DEPTH results outstanding.  LENGTH is a number, or MIN-MAXxN for N random
lengths.  Options in the environment: RING_NONFINITE=1 sends infinities and NaN
at the ends of vectors, RING_HELLO is more JSON for the hello, RING_PAUSE is a
number of seconds to wait before each vector, and RING_EARLY is the number of the
worker, whose first vector is then sent before the hello arrives.  The child
prints the number of vectors whose sums were right, or the first difference.
"""
import json
import os
import random
import signal
import struct
import sys
import time

import numpy as np

HEAD = struct.Struct('<4sHHIfQII')
put, get = sys.stdout.buffer, sys.stdin.buffer
workers, ring, depth = (int(x) for x in sys.argv[1:4])
nonfinite = os.environ.get('RING_NONFINITE') == '1'
doing = 'begins'


def late(*_):
    sys.exit('ring-child: after 60 s it still %s' % doing)


def send(kind, body, elements):
    put.write(HEAD.pack(b'INET', kind, 0, elements, 0, 0, 1, 0))
    put.write(body)
    put.flush()


def read(n):
    data = get.read(n)
    if len(data) < n:
        sys.exit('ring-child: the stream ended while it %s' % doing)
    return data


def receive():
    _, kind, flags, n, _, iteration, contributions, _ = HEAD.unpack(read(32))
    return kind, flags, n, iteration, contributions, read(n if kind == 1 else 4 * n)


def lengths():
    draw = random.Random(1)
    for word in sys.argv[4:]:
        if 'x' in word:
            span, n = word.split('x')
            low, high = (int(x) for x in span.split('-'))
            for _ in range(int(n)):
                yield draw.randint(low, high)
        else:
            yield int(word)


def vector(worker, k, n):
    i = np.arange(n, dtype=np.int64)
    v = ((i * 31 + k * 17 + worker * 101) % 2001 - 1000).astype('<f4')
    if nonfinite and worker == 0:
        v[-1] = (np.inf, -np.inf, np.nan)[k % 3]
    return v


def check(k, n):
    global doing
    doing = 'waits for result %d, of %d elements' % (k, n)
    signal.alarm(60)
    kind, flags, elements, iteration, contributions, body = receive()
    if (kind, flags, elements, iteration, contributions) != (3, 0, n, k + 1, workers):
        sys.exit('ring-child: result %d of %d elements: kind %d, flags %d, %d elements, '
                 'iteration %d, %d contributions' % (k, n, kind, flags, elements, iteration,
                                                     contributions))
    want = sum(vector(w, k, n) for w in range(workers))
    got = np.frombuffer(body, '<f4')
    wrong = np.flatnonzero(~((got == want) | (np.isnan(got) & np.isnan(want))))
    if len(wrong) > 0:
        sys.exit('ring-child: result %d, element %d of %d: %g, not %g' %
                 (k, wrong[0], n, got[wrong[0]], want[wrong[0]]))


signal.signal(signal.SIGALRM, late)
signal.alarm(60)
doing = 'waits for the hello'
hello = {'version': 1, 'elements': ring, 'ring': True, **({'nonfinite': True} if nonfinite else {}),
         **json.loads(os.environ.get('RING_HELLO', '{}'))}
text = json.dumps(hello).encode()
send(1, text, len(text))
send(4, b'', 0)
early = os.environ.get('RING_EARLY')
if early is not None:
    first = next(lengths())
    send(2, vector(int(early), 0, first).tobytes(), first)
kind, *_, body = receive()
hello = json.loads(body)
if kind != 1 or hello.get('ring') is not True:
    sys.exit('ring-child: no hello with a ring: %s' % body)
out = []
done = 0
for k, n in enumerate(lengths()):
    doing = 'sends vector %d, of %d elements' % (k, n)
    signal.alarm(60)
    time.sleep(float(os.environ.get('RING_PAUSE', 0)))
    if k > 0 or early is None:
        send(2, vector(hello['worker'], k, n).tobytes(), n)
    out.append((k, n))
    while len(out) >= depth:
        check(*out.pop(0))
        done += 1
for piece in out:
    check(*piece)
    done += 1
send(5, b'', 0)
print('%d right' % done, file=sys.stderr)
