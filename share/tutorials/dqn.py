#!/usr/bin/python3
"""DQN on CartPole-v1: ./dqn.py STEPS

The script of replay-memory.md.  The file buffer.py beside it holds the
experiences: add() stores one, draw() picks a batch, update() sets priorities.
"""
import math, random, sys, torch
from buffer import add, draw, update

def step(s, right):                     # CartPole-v1
    x, v, a, w = s
    sin, cos = math.sin(a), math.cos(a)
    push = (20 * right - 10 + 0.05 * w * w * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
    s = [x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
         a + 0.02 * w, w + 0.02 * turn]
    return s, abs(s[0]) > 2.4 or abs(s[2]) > math.pi / 15

def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(),
                               torch.nn.Linear(64, 2))

torch.manual_seed(1), random.seed(1), torch.set_num_threads(1)
q, target = net(), net()
adam = torch.optim.Adam(q.parameters(), 1e-3)
lengths, s, t = [0], [random.uniform(-0.05, 0.05) for _ in range(4)], 0
for n in range(int(sys.argv[1])):
    if n % 200 == 0:
        target.load_state_dict(q.state_dict())
    if random.random() < max(0.05, 1 - n / 2000):
        a = random.randrange(2)
    else:
        a = int(q(torch.tensor(s)).argmax())
    new, done = step(s, a)
    add(s, a, new, done)
    s, t = new, t + 1
    if done or t == 500:
        lengths.append(t)
        s, t = [random.uniform(-0.05, 0.05) for _ in range(4)], 0
    if n >= 500:
        obs, action, new_obs, end, weight, ids = draw(64)
        with torch.no_grad():
            best = target(new_obs).gather(1, q(new_obs).argmax(1, True))[:, 0]
            want = 1 + 0.99 * best * (1 - end)
        error = want - q(obs).gather(1, action[:, None])[:, 0]
        adam.zero_grad()
        (weight * error ** 2).mean().backward()
        adam.step()
        update(ids, error.detach().abs())
print('the last 10 episodes had %.0f steps on average' %
      (sum(lengths[-10:]) / len(lengths[-10:])))
