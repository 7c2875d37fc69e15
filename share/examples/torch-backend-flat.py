#!/usr/bin/python3
"""Train a policy for CartPole by REINFORCE on several ranks.  As in the multi-GPU
scripts of CleanRL, each step sums all gradients with one flat all_reduce:

    python3 torch-backend-flat.py --backend innet

torch.distributed reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and the
backend innet reads INNET_SWITCH; innet_torch(3) shows how to start all ranks.
Without innet, run the script with --backend gloo.  Each rank plays its own episodes.
At the end each rank prints the mean reward of its last ten episodes, and the CRC of
the weights, which is the same on all ranks.  With two ranks, both backends give the
same weights.
"""
import argparse, math, os, sys, zlib
import torch
import torch.distributed as dist
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../python'))

class CartPole:
    def reset(self):
        self.s, self.n = [0.1 * x for x in (torch.rand(4) - 0.5).tolist()], 0
        return torch.tensor(self.s)

    def step(self, right):
        x, v, a, w = self.s
        push = ((10 if right else -10) + 0.05 * w * w * math.sin(a)) / 1.1
        turn = (9.8 * math.sin(a) - math.cos(a) * push) / (
            0.5 * (4 / 3 - 0.1 * math.cos(a) ** 2 / 1.1))
        self.s = [x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * math.cos(a) / 1.1),
                  a + 0.02 * w, w + 0.02 * turn]
        self.n += 1
        over = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095 or self.n == 500
        return torch.tensor(self.s), over

parser = argparse.ArgumentParser()
parser.add_argument('--backend', default='gloo')
parser.add_argument('--episodes', type=int, default=100)
args = parser.parse_args()

if args.backend == 'innet':
    import innet_torch                  # registers the backend
dist.init_process_group(args.backend)
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1), torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(),
                          torch.nn.Linear(64, 2))
adam = torch.optim.Adam(net.parameters(), lr=1e-2)
torch.manual_seed(2 + rank)
env, rewards = CartPole(), []
for episode in range(args.episodes):
    s, over, logs = env.reset(), False, []
    while not over:
        choice = torch.distributions.Categorical(logits=net(s))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        s, over = env.step(action.item() == 1)
    rewards.append(len(logs))
    returns = torch.arange(len(logs), 0, -1.0)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    adam.zero_grad()
    (-torch.stack(logs) * returns).mean().backward()
    # one all_reduce of all gradients, as CleanRL does it
    grads = torch.cat([p.grad.view(-1) for p in net.parameters()])
    dist.all_reduce(grads, op=dist.ReduceOp.SUM)
    at = 0
    for p in net.parameters():
        p.grad.copy_(grads[at:at + p.numel()].view_as(p) / world)
        at += p.numel()
    adam.step()
last = rewards[-10:]
flat = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
print('rank %d reward %.1f weights %08x' % (
    rank, sum(last) / len(last), zlib.crc32(flat.numpy().tobytes())))
dist.destroy_process_group()
