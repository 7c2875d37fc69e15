#!/usr/bin/python3
"""Let a replay memory draw for the replay buffer of torchrl

    torchrl-sampler.py SERVERS [STATES]

Only the line that makes the sampler differs from a script without innet.  The task
is the blind cliff walk of Schaul et al. (Prioritized Experience Replay, section
3.1).  In each of STATES states (default 10), one action leads to the next state,
and the other ends the walk.  Only the last state gives a reward, so at first only
one in 2^STATES experiences is informative.  The script prints how many updates Q
needs with prioritized and with uniform sampling.  If torchrl is not installed, the
script uses its own buffer that makes the same calls.
"""
import os, sys
import torch
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../python'))
try:
    from torchrl.data import LazyTensorStorage, RandomSampler, ReplayBuffer
except ImportError:
    class LazyTensorStorage:
        def __init__(self, capacity):
            self.data, self.capacity = None, capacity

    class RandomSampler:
        def extend(self, index):
            self.n = len(index)

        def sample(self, storage, n):
            return torch.randint(self.n, (n,)), {}

        def update_priority(self, index, priority):
            pass

    class ReplayBuffer:
        def __init__(self, storage, sampler, batch_size):
            self.storage, self.sampler, self.batch_size = storage, sampler, batch_size

        def extend(self, data):
            self.storage.data = data
            self.sampler.extend(torch.arange(len(data)))

        def sample(self, return_info=True):
            index, info = self.sampler.sample(self.storage, self.batch_size)
            return self.storage.data[index], dict(info, index=index)

        def update_priority(self, index, priority):
            self.sampler.update_priority(index, priority)
import innet_replay

states = int(sys.argv[2]) if len(sys.argv) > 2 else 10

def walks():                    # state, action, reward, next state or -1
    rows = []
    for k in range(2 ** states):        # all random walks, each once
        for s in range(states):
            right = k >> s & 1
            last = s == states - 1
            rows.append((s, right, right * last, -1 if last or not right else s + 1))
            if not right:
                break
    return torch.tensor(rows)

def updates(sampler):
    data = walks()
    rb = ReplayBuffer(storage=LazyTensorStorage(len(data)), sampler=sampler(len(data)), batch_size=1)
    rb.extend(data)
    q, gamma = torch.zeros(states, 2), 1 - 1 / states
    truth = torch.stack([torch.zeros(states), gamma ** torch.arange(states - 1, -1, -1.0)], 1)
    for n in range(1, 10 ** 6):
        batch, info = rb.sample(return_info=True)
        s, a, r, new = batch[0].tolist()
        error = r + (gamma * q[new].max() if new >= 0 else 0) - q[s, a]
        q[s, a] += error / 4
        rb.update_priority(info['index'], torch.as_tensor([abs(float(error))]))
        if ((q - truth) ** 2).mean() < 1e-3:
            return n
    sys.exit('torchrl-sampler: Q is not right after %d updates' % n)

torch.manual_seed(1)
uniform = updates(lambda n: RandomSampler())
servers = sys.argv[1]
chosen = updates(lambda n: innet_replay.Sampler(servers, n, alpha=1.0, beta=0.5))
print('%d updates by priority, %d uniformly' % (chosen, uniform))
sys.exit(chosen >= uniform)
