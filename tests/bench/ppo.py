"""ppo.py STEPS - do the same as innet-agent --alone --algo ppo --env cartpole with
PyTorch on one thread

The eight carts move together.  The script prints steps per second of processor time,
gradients per second of the time that learning takes, and the mean reward of the last
100 episodes.
"""
import math
import sys
import time

import torch

ENVS, HORIZON, EPOCHS, BATCH, HIDDEN = 8, 64, 8, 256, 64
GAMMA, LAMBDA, CLIP, NORM, RATE = 0.99, 0.9, 0.2, 0.5, 2e-3


def tower(out, last):
    net = torch.nn.Sequential(
        torch.nn.Linear(4, HIDDEN), torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN, out))
    for layer, gain in zip(net[::2], (1.4, 1.4, last)):
        top = gain * math.sqrt(3 / layer.in_features)
        torch.nn.init.uniform_(layer.weight, -top, top)
        torch.nn.init.zeros_(layer.bias)
    return net


def fresh(n):
    return torch.rand(n, 4, dtype=torch.float64) / 10 - 0.05


def step(s, action):                    # CartPole-v1; each row is a cart
    x, v, a, w = s.T
    sin, cos = a.sin(), a.cos()
    push = (20 * action - 10 + 0.05 * w * w * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
    s = torch.stack([x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
                     a + 0.02 * w, w + 0.02 * turn], 1)
    return s, (s[:, 0].abs() > 2.4) | (s[:, 2].abs() > math.pi / 15)


@torch.no_grad()
def roll():
    global now, age
    seen = torch.empty(HORIZON, ENVS, 4)
    action = torch.empty(HORIZON, ENVS, dtype=torch.int64)
    logp, value, reward, adv = torch.empty(4, HORIZON, ENVS)
    done = torch.empty(HORIZON, ENVS, dtype=torch.bool)
    for t in range(HORIZON):
        seen[t] = now
        logs = torch.log_softmax(actor(seen[t]), 1)
        action[t] = torch.multinomial(logs.exp(), 1).squeeze(1)
        logp[t] = logs.gather(1, action[t].unsqueeze(1)).squeeze(1)
        value[t] = critic(seen[t]).squeeze(1)
        now, fell = step(now, action[t])
        age += 1
        cut = (age >= 500) & ~fell
        reward[t] = 1
        if cut.any():
            reward[t] += GAMMA * cut * critic(now.float()).squeeze(1)
        done[t] = fell | cut
        if done[t].any():
            rewards.extend(age[done[t]].tolist())
            now[done[t]] = fresh(int(done[t].sum()))
            age[done[t]] = 0
    after, gain = critic(now.float()).squeeze(1), torch.zeros(ENVS)
    for t in reversed(range(HORIZON)):
        go = GAMMA * ~done[t]
        gain = reward[t] + go * after - value[t] + go * LAMBDA * gain
        adv[t], after = gain, value[t]
    return (seen.flatten(0, 1), action.flatten(), logp.flatten(),
            adv.flatten(), (adv + value).flatten())


def learn(seen, action, logp, adv, ret):
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(adv)).split(BATCH):
            a = adv[rows]
            a = (a - a.mean()) / (a.std(unbiased=False) + 1e-8)
            logs = torch.log_softmax(actor(seen[rows]), 1)
            ratio = (logs.gather(1, action[rows].unsqueeze(1)).squeeze(1) -
                     logp[rows]).exp()
            miss = critic(seen[rows]).squeeze(1) - ret[rows]
            loss = (0.5 * miss * miss - torch.min(
                ratio * a, ratio.clamp(1 - CLIP, 1 + CLIP) * a)).mean()
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(params, NORM)
            adam.step()


torch.set_num_threads(1)
torch.manual_seed(1)
actor, critic = tower(2, 0.01), tower(1, 1)
params = [*actor.parameters(), *critic.parameters()]
adam = torch.optim.Adam(params, lr=RATE)
now, age, rewards = fresh(ENVS), torch.zeros(ENVS), []
rolls = -(-int(sys.argv[1]) // (ENVS * HORIZON))
begun, learning = time.process_time(), 0
for _ in range(rolls):
    rows = roll()
    played = time.process_time()
    learn(*rows)
    learning += time.process_time() - played
steps, gradients = rolls * ENVS * HORIZON, rolls * EPOCHS * ENVS * HORIZON // BATCH
last = rewards[-100:]
print(f'{steps / (time.process_time() - begun):.1f} {gradients / learning:.1f}'
      f' {sum(last) / len(last):.1f}')
