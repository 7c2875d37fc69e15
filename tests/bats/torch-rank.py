"""One rank of the tests in torch-backend.bats.

    torch-rank.py FUNCTION [ARGUMENT...]

RANK, WORLD_SIZE and the other variables of torch.distributed are set.  INNET_TIMEOUT
is the timeout of the process group in seconds.  The rank calls the function, and
prints "rank R: right" if all results are right.
"""
import datetime
import os
import random
import sys

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
TIMEOUT = float(os.environ.get('INNET_TIMEOUT', 60))
RING = 2048 * 366                       # elements


def begin(**more):
    """Open the group, and return a gloo group of the same ranks."""
    import innet_torch                  # registers the backend
    assert innet_torch.RING == RING
    dist.init_process_group('innet', timeout=datetime.timedelta(seconds=TIMEOUT),
                            **more)
    return dist.new_group(backend='gloo')


def vector(n, seed=0, dtype=torch.float32):
    """Return a vector that differs between ranks."""
    draw = torch.Generator().manual_seed(1000 * seed + RANK)
    return torch.randn(n, generator=draw).to(dtype)


def same(a, b, what):
    """Check that two tensors have the same bits, or NaN in the same places."""
    assert a.dtype == b.dtype and a.shape == b.shape, what
    equal = (a == b) | (a.isnan() & b.isnan())
    assert equal.all(), '%s: %d elements differ' % (what, (~equal).sum())


def lengths(*words):
    """Sum vectors of these lengths."""
    gloo = begin()
    for i, word in enumerate(words):
        n = eval(word, {'ring': RING})
        a = vector(n, i)
        b = a.clone()
        dist.all_reduce(a)
        dist.all_reduce(b, group=gloo)
        same(a, b, 'length %d' % n)


def memory():
    """Return the memory of this process and its children, in kB."""
    total = 0
    for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
        try:
            with open('/proc/%s/status' % pid) as f:
                field = dict(line.split(':', 1) for line in f if ':' in line)
        except OSError:
            continue
        if os.getpid() in (int(pid), int(field['PPid'])):
            total += int(field.get('VmRSS', '0 kB').split()[0])
    return total


def many(count, most):
    """Sum vectors of random lengths, and check that memory does not grow."""
    gloo = begin()
    draw = random.Random(1)
    for i in range(int(count)):
        n = draw.randint(1, int(most))
        a = vector(n, i)
        b = a.clone()
        dist.all_reduce(a)
        dist.all_reduce(b, group=gloo)
        same(a, b, 'vector %d, of %d elements' % (i, n))
        if i == int(count) // 5:
            early = memory()
    grown = memory() - early
    assert grown < 16384, 'memory grew by %d kB' % grown


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
    print('rank %d: right' % RANK, flush=True)
