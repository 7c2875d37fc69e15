#!/usr/bin/python3
"""DistributedDataParallel whose gradients are summed in the network:

    innet-worker --switch HOST:PORT -p iswitch --worker N -- ./torch-ddp.py

Learns to foretell CartPole's next state, each worker from states of its own.
Each process is a world of one for DDP, which so moves nothing by itself; its
communication hook hands the bucket to innet and returns the mean.  An argument
is the number of steps.  At the end the loss of the first and of the last step
and the CRC of the weights go to standard error.
"""
import math, os, sys, tempfile, zlib
import torch
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../python'))
import innet_stream

def hook(stream, bucket):               # as register_comm_hook() wants it
    buffer = bucket.buffer()            # the flat gradient itself
    if not (bucket.index() == 0 and bucket.is_last()):
        raise SystemExit('torch-ddp: the gradient came in several buckets')
    array = buffer.numpy()
    stream.mean(array, out=array)       # sent from there, read back to there
    future = torch.futures.Future()
    future.set_result(buffer)
    return future

def batch(n=256):                       # states, pushes, and what follows
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
    torch.manual_seed(2 + stream.worker)        # states of its own
    torch.distributed.init_process_group(
        'gloo', init_method='file://' + d + '/init', world_size=1, rank=0)
    # one bucket above the size of all weights, so one message a step
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
        except RuntimeError:            # what comes out of a hook becomes one
            if stream.ended:
                break
            raise
        adam.step()
        losses.append(loss.item())
    torch.distributed.destroy_process_group()
flat = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
print('loss %.6f to %.6f weights %08x' %
      (losses[0], losses[-1], zlib.crc32(flat.numpy().tobytes())))
