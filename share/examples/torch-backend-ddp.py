#!/usr/bin/python3
"""Train with DistributedDataParallel; nothing in this script is about innet:

    python3 -m innet_torch torch-backend-ddp.py --backend innet

torch.distributed reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and the
backend innet reads INNET_SWITCH; innet_torch(3) shows how to start all ranks.
Without innet, run the script with --backend gloo.  Each rank learns to predict the
next state of CartPole from states of its own.  At the end each rank prints the loss
of the first and of the last step, and the CRC of the weights, which is the same on
all ranks.  With two ranks, both backends give the same weights.
"""
import argparse, zlib
import torch
import torch.distributed as dist

def batch(n=256):                       # states and pushes; changes of the state
    s = (2 * torch.rand(n, 4) - 1) * torch.tensor([2.4, 2, 0.2, 2])
    force = torch.randint(0, 2, (n,)).float() * 20 - 10
    _, v, a, w = s.T
    push = (force + 0.05 * w * w * a.sin()) / 1.1
    turn = (9.8 * a.sin() - a.cos() * push) / (
        0.5 * (4 / 3 - 0.1 * a.cos() ** 2 / 1.1))
    after = torch.stack([v, push - 0.05 * turn * a.cos() / 1.1, w, turn], 1)
    return torch.cat([s, force.unsqueeze(1) / 10], 1), after / 10

parser = argparse.ArgumentParser()
parser.add_argument('--backend', default='gloo')
parser.add_argument('--steps', type=int, default=300)
args = parser.parse_args()

dist.init_process_group(args.backend)
torch.manual_seed(1), torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(5, 256), torch.nn.Tanh(),
                          torch.nn.Linear(256, 256), torch.nn.Tanh(),
                          torch.nn.Linear(256, 4))
# small buckets: the sum of a bucket overlaps with the backward pass of others
model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.1)
adam = torch.optim.Adam(model.parameters(), lr=1e-3)
torch.manual_seed(2 + dist.get_rank())  # each rank draws its own states
losses = []
for _ in range(args.steps):
    x, y = batch()
    loss = torch.nn.functional.mse_loss(model(x), y)
    adam.zero_grad()
    loss.backward()
    adam.step()
    losses.append(loss.item())
flat = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
print('rank %d loss %.6f to %.6f weights %08x' % (
    dist.get_rank(), losses[0], losses[-1], zlib.crc32(flat.numpy().tobytes())))
dist.destroy_process_group()
