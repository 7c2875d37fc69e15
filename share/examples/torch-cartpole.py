#!/usr/bin/python3
"""Train CartPole in PyTorch through innet's gradient stream (stdin, stdout):

    innet-worker --switch HOST:PORT --mode sync -- ./torch-cartpole.py

Needs torch only.  An argument is the number of gradients to send.
"""
import json, math, os, struct, sys
import torch

HEAD = struct.Struct('<4sHHIfQII')      # innet-stream(5)
HELLO, GRADIENT, RESULT, WEIGHTS, BYE = range(1, 6)
MODEL, MORE = 1, 4

def send(kind, body=b'', reward=0.0, iteration=0):
    n = len(body) if kind == HELLO else len(body) // 4
    data = HEAD.pack(b'INET', kind, 0, n, reward, iteration, 1, 0) + body
    try:
        while data:
            data = data[os.write(1, data):]
    except BrokenPipeError:             # nobody listens: the end of training
        sys.exit()

def read(n):
    data = sys.stdin.buffer.read(n)
    return data if len(data) == n else sys.exit()   # the end of training

def receive():
    _, kind, flags, n, _, iteration, count, _ = HEAD.unpack(read(HEAD.size))
    return kind, flags, iteration, count, read(n if kind == HELLO else 4 * n)

def step(s, right):                     # CartPole-v1, a row a pole
    x, v, a, w = s.T
    sin, cos = a.sin(), a.cos()
    push = (20 * right - 10 + 0.05 * w * w * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
    s = torch.stack([x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
                     a + 0.02 * w, w + 0.02 * turn], 1)
    return s, (s[:, 0].abs() <= 2.4) & (s[:, 2].abs() <= math.pi / 15)

@torch.no_grad()
def play(policy, poles=16):             # an episode each: seen, done, upright
    s, up = torch.rand(poles, 4) / 10 - 0.05, torch.ones(poles, dtype=bool)
    seen, actions, alive = [], [], []
    while up.any() and len(alive) < 500:
        right = torch.rand(poles) < policy(s).squeeze(1).sigmoid()
        seen.append(s), actions.append(right), alive.append(up)
        s, stands = step(s, right.float())
        up = up & stands
    return torch.stack(seen), torch.stack(actions), torch.stack(alive)

torch.manual_seed(1), torch.set_num_threads(1)
policy = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(),
                             torch.nn.Linear(64, 1))
params = list(policy.parameters())
flat = torch.nn.utils.parameters_to_vector(params).detach()
send(HELLO, json.dumps({'version': 1, 'elements': len(flat),
                        'name': 'torch-cartpole'}).encode())
send(WEIGHTS, flat.numpy().tobytes())           # the same of every worker
_, _, _, _, hello = receive()
torch.manual_seed(2 + json.loads(hello).get('worker', 0))   # each its own games
iteration = 0
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
    seen, actions, alive = play(policy)
    lengths = alive.sum(0)
    left = (lengths - torch.arange(len(alive)).unsqueeze(1))[alive]
    worth = (1 - 0.99 ** left) / 0.01               # discounted reward to come
    logit = policy(seen[alive]).squeeze(1)
    logp = -torch.nn.functional.softplus(torch.where(actions[alive], -logit,
                                                     logit))
    gain = (logp * (worth - worth.mean()) / (worth.std() + 1e-8)).mean()
    grads = torch.autograd.grad(gain, params)       # points up
    send(GRADIENT, torch.cat([g.flatten() for g in grads]).numpy().tobytes(),
         lengths.float().mean().item(), iteration)
    more = True
    while more:
        kind, flags, newer, count, body = receive()
        more = kind == HELLO or flags & MORE
        if kind == RESULT and body:
            got = torch.frombuffer(bytearray(body), dtype=torch.float32)
            flat = got if flags & MODEL else flat + 0.1 * got / count
            torch.nn.utils.vector_to_parameters(flat, params)
            iteration = newer
        elif kind == BYE:
            sys.exit()
send(BYE)
