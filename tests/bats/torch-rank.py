"""The ranks of the tests in torch-backend.bats.

    torch-rank.py FIFO

To import torch takes seconds of processor time, so one process imports it, and
all ranks of all tests are forked from this process.  It reads lines "FOLDER N
FUNCTION [ARGUMENT...]" from FIFO, and forks N ranks for each line.  A rank runs
in FOLDER with the environment in the file "env" there, and calls the function.
It prints "rank R: right" if all results are right.  Rank R writes to rankR.out
and rankR.err, and its process id is in rankR.pid.

INNET_TIMEOUT in the environment is the timeout of the process group in seconds.
"""
import datetime
import os
import random
import shlex
import signal
import sys

import torch
import torch.distributed as dist

RANK, WORLD, TIMEOUT = 0, 1, 60         # each rank sets them
RING = 2048 * 366                       # elements


def begin(**more):
    """Open the group, and return a gloo group of the same ranks."""
    import innet_torch                  # registers the backend
    assert innet_torch.RING == RING
    if os.environ.get('TORCH_UNSET') == str(RANK):
        del os.environ['INNET_SWITCH']
    if os.environ.get('TORCH_WORKER') == str(RANK):
        del os.environ['INNET_LIBRARY']
    if os.environ.get('TORCH_STOP') == str(RANK):
        import time
        innet_torch._Start.run = lambda start: time.sleep(30)
    if 'INNET_URL' in os.environ:
        more['init_method'] = os.environ['INNET_URL']
    timeout = datetime.timedelta(seconds=TIMEOUT)
    if 'straggler' in more:
        innet_torch.init_process_group(timeout=timeout, **more)
    else:
        dist.init_process_group('innet', timeout=timeout, **more)
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


def shapes():
    """Sum tensors of other shapes, strides, types and values, and means."""
    gloo = begin()
    base = vector(6000).view(20, 30, 10)
    views = [base[3], base.transpose(0, 2), base[::3, 1:7, ::2], base[2, 3, 4],
             vector(24).view(1, 2, 3, 4).to(memory_format=torch.channels_last),
             vector(0), vector(0).view(3, 0)]
    for i, view in enumerate(views):
        whole = base.clone()
        want = view.contiguous().clone()
        dist.all_reduce(view)
        dist.all_reduce(want, group=gloo)
        same(view, want, 'view %d' % i)
        base.copy_(whole)
    a = vector(1000)
    a[RANK] = float('inf')
    a[10], a[11], a[12] = float('nan'), -float('inf'), float('inf')
    a[13] = float('inf') if RANK == 0 else -float('inf')
    b = a.clone()
    dist.all_reduce(a)
    dist.all_reduce(b, group=gloo)
    assert a[0].isinf() and a[13].isnan()
    same(a, b, 'infinities')
    half = vector(5000, 1, torch.float16)
    want = half.clone()
    dist.all_reduce(half)
    dist.all_reduce(want, group=gloo)
    same(half, want, 'float16')
    brain = vector(5000, 2, torch.bfloat16)
    want = brain.float()
    dist.all_reduce(brain)
    dist.all_reduce(want, group=gloo)
    same(brain, want.bfloat16(), 'bfloat16')
    mean = vector(5000, 3)
    want = mean.clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    dist.all_reduce(want, group=gloo)
    same(mean, want / WORLD, 'AVG')
    leaf = vector(10).requires_grad_()
    with torch.no_grad():
        dist.all_reduce(leaf)
    parts = [vector(700, 4), vector(8, 5)]
    want = torch.cat(parts)
    dist.all_reduce_coalesced(parts)
    dist.all_reduce(want, group=gloo)
    same(torch.cat(parts), want, 'all_reduce_coalesced')


def inference():
    """Sum tensors of inference mode."""
    gloo = begin()
    with torch.inference_mode():
        base = vector(600, 1).view(20, 30)
        for i, view in enumerate([vector(500), base[::2, 3:], base[1].half()]):
            for op, divisor in (dist.ReduceOp.AVG, WORLD), (dist.ReduceOp.SUM, 1):
                want = view.float().clone()
                dist.all_reduce(view, op=op)
                dist.all_reduce(want, group=gloo)
                want = (want / divisor).to(view.dtype)
                same(view, want, 'tensor %d' % i)
    outside = vector(300, 2)
    want = outside.clone()
    with torch.inference_mode():
        dist.all_reduce(outside[::2], op=dist.ReduceOp.AVG)
    dist.all_reduce(want, group=gloo)
    same(outside[::2], want[::2] / WORLD, 'a normal tensor')


def unwritable():
    """Sum a tensor to which PyTorch cannot write the sum on rank 1, because all its
    elements are one place in memory."""
    begin()
    a = torch.ones(1).expand(1000)
    try:
        dist.all_reduce(a if RANK == 1 else a.clone())
        assert RANK == 0
    except RuntimeError as e:
        assert RANK == 1 and 'rank 1: RuntimeError: ' in str(e), e


def crossed():
    """Let rank 0 start sums for which the pipe has no room, before it sends a tensor
    for which rank 1 waits before it starts the sums."""
    begin()
    a = vector(10)
    if RANK == 1:
        dist.recv(a, 0)
    sums = [torch.full((150000,), float(i)) for i in range(40)]
    works = [dist.all_reduce(v, async_op=True) for v in sums]
    if RANK == 0:
        dist.send(a, 1)
    for i, w in enumerate(works):
        w.wait()
        same(sums[i], torch.full((150000,), float(i * WORLD)), 'sum %d' % i)


def descriptors(count):
    """Sum with many open files."""
    import resource
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    for _ in range(int(count)):
        os.dup(0)
    lengths('1000')


def several():
    """Start many sums, and wait for them in another order, also by their futures."""
    gloo = begin()
    sent = [vector(1 + 997 * i % 60000, i) for i in range(100)]
    want = [v.clone() for v in sent]
    works = [dist.all_reduce(v, async_op=True) for v in sent]
    futures = [w.get_future() for w in works[::2]]
    doubled = [f.then(lambda f: 2 * f.value()[0]) for f in futures]
    for w in reversed(works):
        assert w.wait() and w.is_completed() and w.is_success()
    for v in want:
        dist.all_reduce(v, group=gloo)
    for v, w in zip(sent, want):
        same(v, w, 'length %d' % v.numel())
    for f, d, v in zip(futures, doubled, sent[::2]):
        assert f.wait()[0] is v
        same(d.wait(), 2 * v, 'then')
    same(works[1].get_future().wait()[0], sent[1], 'a future after the end')
    same(works[3].result()[0], sent[3], 'result')
    last = dist.all_reduce(torch.ones(9), async_op=True).result()
    same(last[0], torch.full((9,), float(WORLD)), 'the result of a temporary tensor')

    def again(f):                       # a callback that waits for another sum
        v = f.value()[0].clone()
        return dist.all_reduce(v, async_op=True).get_future().wait()[0]
    nested = dist.all_reduce(sent[0], async_op=True).get_future().then(again)
    nested = nested.then(lambda f: f.value())
    same(nested.wait(), sent[0] * WORLD, 'a callback that waits')


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(50, 300), torch.nn.Tanh(), torch.nn.Linear(300, 300),
        torch.nn.Tanh(), torch.nn.Linear(300, 4))


def train(group, hook=None, steps=5, each=None, **more):
    """Train with DistributedDataParallel and buckets of 100 kB, and return the
    weights.  Call each(step) after each step."""
    model = torch.nn.parallel.DistributedDataParallel(
        network(), process_group=group, bucket_cap_mb=0.1, **more)
    if hook is not None:
        model.register_comm_hook(*hook)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(steps):
        adam.zero_grad()
        model(vector(32 * 50, step).view(32, 50)).square().mean().backward()
        adam.step()
        if each is not None:
            each(step)
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def ddp():
    """Get the weights that gloo gives, with plain DDP, with views and with a hook."""
    import innet_torch
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    gloo = begin()
    want = train(gloo)
    same(train(None), want, 'DDP')
    same(train(None, gradient_as_bucket_view=True), want, 'views of buckets')
    innet = dist.new_group(backend='innet')
    same(train(gloo, (innet, innet_torch.ddp_hook)), want, 'ddp_hook')
    same(train(innet, (innet, default_hooks.allreduce_hook)), want,
         'allreduce_hook')
    same(train(innet, (innet, default_hooks.fp16_compress_hook)),
         train(gloo, (gloo, default_hooks.fp16_compress_hook)), 'float16 hook')


def combined(rows, how):
    """Return what AVG must be for these vectors, one in each row."""
    rows = rows.double()
    if how.startswith('trimmed:'):
        drop = int(how.split(':')[1])
        return rows.sort(0).values[drop:len(rows) - drop].mean(0)
    return rows.mean(0) if how != 'median' else rows.quantile(0.5, 0)


def rules():
    """Combine vectors in the other ways that the switch knows."""
    import innet_torch
    gloo = begin()
    for how in 'median', 'trimmed:1', 'ordered', 'fixed', 'sum':
        group = innet_torch.new_group(reduce=how)
        for n in 5, 5000:
            a = vector(n, n)
            rows = [torch.empty(n) for _ in range(WORLD)]
            dist.all_gather(rows, a, group=gloo)
            want = combined(torch.stack(rows), how)
            for op, by in (dist.ReduceOp.AVG, 1), (dist.ReduceOp.SUM, WORLD):
                b = a.clone()
                dist.all_reduce(b, op=op, group=group)
                assert torch.allclose(b.double(), by * want, atol=1e-6), how
        if how in ('ordered', 'fixed'):
            for i in range(20):
                b = a.clone()
                dist.all_reduce(b, group=group)
                first = b if i == 0 else first
                same(b, first, how)


def byzantine():
    """Train with DDP while the last rank sends noise, which only the median stops."""
    global RANK
    import innet_torch
    gloo = begin()
    evil = RANK == WORLD - 1
    RANK = 0                            # all ranks train with the same data
    draw = torch.Generator().manual_seed(7)

    def noise(group, bucket):
        bucket.buffer().add_(1e6 * torch.randn(bucket.buffer().shape, generator=draw))
        return innet_torch.ddp_hook(group, bucket)

    want = train(gloo)
    for how in 'median', 'sum':
        group = innet_torch.new_group(reduce=how)
        hook = noise if evil else innet_torch.ddp_hook
        good = torch.allclose(train(gloo, (group, hook)), want, atol=1e-3)
        assert good == (how == 'median'), how


def straggler():
    """Train with DDP while the last rank is late for the gradients of a step, and
    starts them when the others have their sums."""
    import innet_torch
    gloo = begin(straggler=0.2)
    assert innet_torch.new_group()._worker.may_lack
    assert not innet_torch.new_group(straggler=0)._worker.may_lack
    last, sign = WORLD - 1, torch.zeros(1)

    def wait():
        for r in range(last):
            dist.recv(sign, r, group=gloo)

    a = vector(5000)
    rows = [torch.empty(5000) for _ in range(WORLD)]
    dist.all_gather(rows, a, group=gloo)
    if RANK == last:
        wait()
    dist.all_reduce(a, op=dist.ReduceOp.AVG)
    if RANK != last:
        dist.send(sign, last, group=gloo)
    assert torch.allclose(a, torch.stack(rows[:last]).mean(0), atol=1e-6)

    def each(step):
        if RANK == last and step == 2:
            wait()
        if RANK != last and step == 3:
            dist.send(sign, last, group=gloo)

    weights = train(None, steps=6, each=each)
    rows = [torch.empty_like(weights) for _ in range(WORLD)]
    dist.all_gather(rows, weights, group=gloo)
    for r in rows:
        same(r, weights, 'weights')


def wrong_rule(*words):
    """Ask for the rule of this rank, and print the text of the exception."""
    import innet_torch
    begin()
    try:
        innet_torch.new_group(reduce=words[RANK], straggler=float(words[-1]))
    except RuntimeError as e:
        print('rank %d: error: %s' % (RANK, e), flush=True)


def others():
    """Use the collectives that gloo computes, and groups of all ranks."""
    begin()
    assert dist.get_backend() == 'innet' and dist.get_rank() == RANK
    n = torch.tensor([RANK + 1])
    dist.all_reduce(n)
    assert n.item() == WORLD * (WORLD + 1) // 2
    most = torch.tensor([float(RANK)])
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    assert most.item() == WORLD - 1
    wide = torch.tensor([0.1 * RANK], dtype=torch.float64)
    dist.all_reduce(wide)
    a = vector(5)
    dist.broadcast(a, 1)
    all_a = [torch.empty(5) for _ in range(WORLD)]
    dist.all_gather(all_a, a)
    for b in all_a:
        same(a, b, 'all_gather')
    objects = [None] * WORLD
    dist.all_gather_object(objects, {'rank': RANK})
    assert objects == [{'rank': r} for r in range(WORLD)]
    dist.barrier()
    if RANK == 0:
        dist.send(a, 1)
    elif RANK == 1:
        dist.recv(a, 0)
    dist.reduce(a, 0)
    outer = [dist.new_group(ranks=list(range(WORLD))) for _ in range(3)]
    works = []
    for g in outer:
        v = torch.full((1000,), float(RANK + 1))
        works.append((v, dist.all_reduce(v, group=g, async_op=True)))
    for v, w in works:
        w.wait()
        assert (v == WORLD * (WORLD + 1) / 2).all()
    for g in outer:
        dist.destroy_process_group(g)
    for ranks in [0, 2], [1, 2]:
        some = dist.new_group(ranks)
        if RANK in ranks:
            v = torch.full((500,), float(RANK))
            dist.all_reduce(v, group=some)
            assert (v == sum(ranks)).all()
    dist.all_reduce(a)
    dist.destroy_process_group()


def show(i):
    """Print the id of the process after 20 sums, and a line after each 50 sums."""
    if i == 20:
        print('pid %d' % os.getpid(), flush=True)
    if i % 50 == 49:
        print('%d sums' % (i + 1), flush=True)


def until_error(*words):
    """Sum vectors until an exception ends the group.  Print its text, and check that
    later sums raise it too.  The lengths are those of the rank."""
    try:
        begin()
        a = torch.ones(eval(words[RANK % len(words)]) if words else 1000)
        for i in range(10 ** 9):
            dist.all_reduce(a)
            a.fill_(1)
            show(i)
    except RuntimeError as e:
        print('rank %d: error: %s' % (RANK, e), flush=True)
        if dist.is_initialized():
            for _ in range(2):
                try:
                    dist.all_reduce(torch.ones(5))
                except RuntimeError as later:
                    assert str(later) == str(e)
                else:
                    sys.exit('a sum after the error')


def ddp_until_error():
    """Train until an exception ends the group, and print its text."""
    try:
        begin()
        train(None, steps=10 ** 9, each=show)
    except RuntimeError as e:
        print('rank %d: error: %s' % (RANK, e), flush=True)


def taken(number, attempts):
    """Let rank 0 try this number of a job first, and sum until an exception if it
    tries only once."""
    import innet_torch
    urandom, drawn = os.urandom, []

    def draw(n):
        drawn.append(n)
        b = urandom(n)
        return (int(number) - 1).to_bytes(2, 'little') + b[2:] if (
            len(drawn) == 1) else b
    if RANK == 0:
        innet_torch.os.urandom = draw
    if attempts == '1':
        return until_error()
    lengths('1', '5000')
    assert RANK != 0 or len(drawn) == int(attempts)


def idle(seconds):
    """Pause, and then sum."""
    import time
    begin()
    a = torch.ones(1000)
    for _ in range(2):
        dist.all_reduce(a)
        time.sleep(float(seconds))
    dist.all_reduce(a)
    assert (a == WORLD ** 3).all()


def ray():
    """Use the class for Ray with a stand-in for the parts of Ray that it needs."""
    import abc
    import enum
    import types
    import numpy

    class BaseGroup(metaclass=abc.ABCMeta):
        def __init__(self, world_size, rank, group_name):
            self._world_size, self._rank = world_size, rank
            self._group_name = group_name
    for name in ('allreduce', 'barrier', 'reduce', 'allgather', 'broadcast',
                 'reducescatter', 'send', 'recv', 'check_backend_availability'):
        setattr(BaseGroup, name, abc.abstractmethod(lambda self: None))
    BaseGroup = abc.ABCMeta('BaseGroup', (BaseGroup,), dict(vars(BaseGroup)))
    path = 'ray'
    for part in ('', '.util', '.collective', '.collective_group',
                 '.base_collective_group'):
        path += part
        sys.modules[path] = types.ModuleType(path)
    sys.modules[path].BaseGroup = BaseGroup
    ops = enum.Enum('ReduceOp', 'SUM PRODUCT MIN MAX')

    import innet_torch
    kind = innet_torch.ray_group()
    assert kind.backend() == 'INNET' and kind.check_backend_availability()
    for name in ('default', 'second'):
        g = kind(WORLD, RANK, name)
        a = numpy.full(1000, RANK + 1, 'f4')
        g.allreduce([a], types.SimpleNamespace(reduceOp=ops.SUM))
        assert (a == WORLD * (WORLD + 1) / 2).all()
        g.allreduce([a], types.SimpleNamespace(reduceOp=ops.MAX))
        t = torch.full((4,), float(RANK))
        g.broadcast([t], types.SimpleNamespace(root_rank=1))
        assert (t == 1).all()
        every = [torch.empty(4) for _ in range(WORLD)]
        g.allgather([every], [t + RANK])
        assert [e[0].item() for e in every] == [1 + r for r in range(WORLD)]
        g.reduce([t], types.SimpleNamespace(reduceOp=ops.SUM, root_rank=0))
        assert (t == (WORLD if RANK == 0 else 1)).all()
        part = torch.empty(3)
        g.reducescatter([part], [[torch.full((3,), float(r))
                                  for r in range(WORLD)]])
        assert (part == RANK * WORLD).all()
        if RANK == 0:
            g.send([part], types.SimpleNamespace(dst_rank=1))
        elif RANK == 1:
            g.recv([part], types.SimpleNamespace(src_rank=0))
        g.barrier()
    g.destroy_group()


def become(folder, rank, world):
    """Let this process, which was forked, be a rank."""
    global RANK, WORLD, TIMEOUT
    RANK, WORLD = rank, world
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(folder)
    with open('env') as f:
        env = dict(v.split('=', 1) for v in f.read().split('\0') if '=' in v)
    os.environ.clear()
    os.environ.update(env, RANK=str(rank), WORLD_SIZE=str(world))
    TIMEOUT = float(env.get('INNET_TIMEOUT', 60))
    sys.path[:0] = env['PYTHONPATH'].split(':')
    for fd, name in ((1, 'out'), (2, 'err')):
        os.dup2(os.open('rank%d.%s' % (rank, name),
                        os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), fd)


def serve(fifo):
    """Fork ranks.  Return in each rank, with the words of its call."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)   # leave no zombies
    for line in open(os.open(fifo, os.O_RDWR)):
        folder, world, *call = shlex.split(line)
        for rank in range(int(world)):
            pid = os.fork()
            if pid == 0:
                become(folder, rank, int(world))
                return call
            with open('%s/rank%d.pid' % (folder, rank), 'w') as f:
                print(pid, file=f)


if __name__ == '__main__':
    function, *arguments = serve(sys.argv[1])
    globals()[function](*arguments)
    print('rank %d: right' % RANK, flush=True)
