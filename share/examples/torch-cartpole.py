#!/usr/bin/python3
"""Train CartPole in PyTorch through innet's gradient stream (stdin, stdout):

    innet-worker --switch HOST:PORT -p iswitch --worker N -- ./torch-cartpole.py

The optional argument is the number of gradients to send (default 1000).  At the
end the script prints the CRC of the weights, which goes to standard error.  In
sync mode all workers print the same CRC.
"""
import math, os, sys, zlib
import torch
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../python'))
import innet_stream

def step(s, right):                     # CartPole-v1; each row is a pole
    x, v, a, w = s.T
    sin, cos = a.sin(), a.cos()
    push = (20 * right - 10 + 0.05 * w * w * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
    s = torch.stack([x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
                     a + 0.02 * w, w + 0.02 * turn], 1)
    return s, (s[:, 0].abs() <= 2.4) & (s[:, 2].abs() <= math.pi / 15)

@torch.no_grad()
def play(policy, poles=16):             # one episode for each pole
    s, up = torch.rand(poles, 4) / 10 - 0.05, torch.ones(poles, dtype=bool)
    seen, actions, alive = [], [], []
    while up.any() and len(alive) < 500:
        right = torch.rand(poles) < policy(s).squeeze(1).sigmoid()
        seen.append(s), actions.append(right), alive.append(up)
        s, stands = step(s, right.float())
        up = up & stands
    return torch.stack(seen), torch.stack(actions), torch.stack(alive)

torch.manual_seed(1), torch.set_num_threads(1)  # the same weights everywhere
policy = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(),
                             torch.nn.Linear(64, 1))
params = list(policy.parameters())
flat = torch.nn.utils.parameters_to_vector(params).detach()
stream = innet_stream.Stream(flat, name='torch-cartpole')
torch.manual_seed(2 + stream.worker)            # each worker plays its own games
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
    seen, actions, alive = play(policy)
    lengths = alive.sum(0)
    left = (lengths - torch.arange(len(alive)).unsqueeze(1))[alive]
    worth = (1 - 0.99 ** left) / 0.01           # discounted future reward
    logit = policy(seen[alive]).squeeze(1)
    logp = -torch.nn.functional.softplus(torch.where(actions[alive], -logit,
                                                     logit))
    gain = (logp * (worth - worth.mean()) / (worth.std() + 1e-8)).mean()
    grads = torch.cat([g.flatten() for g in torch.autograd.grad(gain, params)])
    for r in stream.results(grads, reward=lengths.float().mean().item()):
        if r.vector is None:                    # no newer weights
            continue
        got = torch.from_numpy(r.vector)
        flat = got.clone() if r.model else flat + 0.1 * got / r.contributions
        torch.nn.utils.vector_to_parameters(flat, params)
stream.close()
print('reward %.1f weights %08x' %
      (stream.reward, zlib.crc32(flat.numpy().tobytes())))
