#!/usr/bin/python3
"""Train CartPole-v1 with REINFORCE on one machine: ./reinforce.py --episodes 300

This is an ordinary PyTorch script that does not use innet.
reinforce-innet.diff makes it train across a network.
"""
import argparse
import math
import random

import torch
from torch import nn
from torch.distributions import Categorical


class CartPole:
    """CartPole-v1, with Gymnasium's reset() and step()."""

    def reset(self, seed=None):
        if seed is not None:
            self.random = random.Random(seed)
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        self.steps = 0
        return torch.tensor(self.state), {}

    def step(self, action):
        x, v, a, w = self.state
        sin, cos = math.sin(a), math.cos(a)
        push = ((10 if action else -10) + 0.05 * w * w * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        self.state = [x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
                      a + 0.02 * w, w + 0.02 * turn]
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.pi / 15
        return torch.tensor(self.state), 1.0, fallen, self.steps >= 500, {}


@torch.no_grad()
def play(env, policy):
    """Play one episode; return its states, actions and rewards."""
    state, _ = env.reset()
    states, actions, rewards, done = [], [], [], False
    while not done:
        action = torch.multinomial(policy(state).softmax(0), 1)
        states.append(state)
        actions.append(action)
        state, reward, terminated, truncated, _ = env.step(action.item())
        rewards.append(reward)
        done = terminated or truncated
    return torch.stack(states), torch.cat(actions), rewards


def returns(rewards, gamma):
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        out.append(total)
    out = torch.tensor(out[::-1])
    return (out - out.mean()) / (out.std(unbiased=False) + 1e-8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--episodes', type=int, default=300)
    parser.add_argument('--gamma', type=float, default=0.99)
    parser.add_argument('--lr', type=float, default=1e-2)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--save', help='write the weights to this file')
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = CartPole()
    env.reset(seed=args.seed)
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    mean = 20.0
    for episode in range(1, args.episodes + 1):
        states, actions, rewards = play(env, policy)
        logp = Categorical(logits=policy(states)).log_prob(actions)
        loss = -(logp * returns(rewards, args.gamma)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += 0.05 * (sum(rewards) - mean)
        if episode % 10 == 0:
            print('episode %d reward %.0f mean %.1f' %
                  (episode, sum(rewards), mean))
    if args.save:
        torch.save(policy.state_dict(), args.save)


if __name__ == '__main__':
    main()
