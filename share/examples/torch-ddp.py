#!/usr/bin/python3
"""Sum the gradients of DistributedDataParallel (DDP) in the network:

    innet-worker --switch HOST:PORT -p iswitch --worker N -- ./torch-ddp.py

The workers learn to predict the next state of CartPole, each from its own states.
Each process is a DDP world of size 1, so DDP itself sends no gradients.  The
communication hook of DDP passes the bucket to innet and returns the mean.  The
optional argument is the number of steps (default 500).  At the end the script
prints the loss of the first and of the last step and the CRC of the weights,
which goes to standard error.
"""
import math, os, sys, tempfile, zlib
import torch
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../python'))
import innet_stream

def hook(stream, bucket):               # for register_comm_hook()
    buffer = bucket.buffer()            # the flat gradient, not a copy
    if not (bucket.index() == 0 and bucket.is_last()):
        raise SystemExit('torch-ddp: DDP split the gradient into several buckets')
    array = buffer.numpy()
    stream.mean(array, out=array)       # replace the gradient by the mean
    future = torch.futures.Future()
    future.set_result(buffer)
    return future

def batch(n=256):                       # states and pushes; changes of the state
    s = (2 * torch.rand(n, 4) - 1) * torch.tensor([2.4, 2, 0.2, 2])
    force = torch.randint(0, 2, (n,)).float() * 20 - 10
    _, v, a, w = s.T
    push = (force + 0.05 * w * w * a.sin()) / 1.1
    turn = (9.8 * a.sin() - a.cos() * push) / (
        0.5 * (4 / 3 - 0.1 * a.cos() ** 2 / 1.1))
    after = torch.stack([v, push - 0.05 * turn * a.cos() / 1.1, w, turn], 1)
    return torch.cat([s, force.unsqueeze(1) / 10], 1), after / 10

torch.manual_seed(1), torch.set_num_threads(1)  # the same weights everywhere
net = torch.nn.Sequential(torch.nn.Linear(5, 64), torch.nn.Tanh(),
                          torch.nn.Linear(64, 4))
flat = torch.nn.utils.parameters_to_vector(net.parameters())
with tempfile.TemporaryDirectory() as d, \
        innet_stream.Stream(flat, name='torch-ddp') as stream:
    torch.manual_seed(2 + stream.worker)        # each worker draws its own states
    torch.distributed.init_process_group(
        'gloo', init_method='file://' + d + '/init', world_size=1, rank=0)
    # a bucket has room for all weights, so each step sends one message
    ddp = torch.nn.parallel.DistributedDataParallel(
        net, bucket_cap_mb=1 + math.ceil(4 * flat.numel() / 2 ** 20))
    ddp.register_comm_hook(stream, hook)
    adam = torch.optim.Adam(ddp.parameters(), lr=1e-2)
    losses = []
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 500):
        x, y = batch()
        loss = torch.nn.functional.mse_loss(ddp(x), y)
        adam.zero_grad()
        try:
            loss.backward()
        except RuntimeError:            # DDP turns an exception in a hook into this
            if stream.ended:
                break
            raise
        adam.step()
        losses.append(loss.item())
    torch.distributed.destroy_process_group()
flat = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
print('loss %.6f to %.6f weights %08x' %
      (losses[0], losses[-1], zlib.crc32(flat.numpy().tobytes())))
