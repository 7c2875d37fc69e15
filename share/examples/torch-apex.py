#!/usr/bin/python3
"""Solve CartPole with Ape-X in PyTorch: one learner, N actors, a replay memory

    torch-apex.py SERVERS [ACTORS [GRADIENTS [cluster]]]

SERVERS is a comma-separated list of addresses of innet-memory, or of redis-server
with innet_per.so.  The learner draws from all servers as if they were one memory.
It prints the mean return of ten greedy episodes.  When this return is 475 or more,
the script ends with status 0.  If an actor ends early, the script prints its
number and ends with status 1.
"""
import math, multiprocessing, os, sys
import numpy as np
import torch
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../python'))
import innet_replay

FIELDS = {'obs': ('f4', (4,)), 'action': 'i8', 'reward': 'f4',
          'next_obs': ('f4', (4,)), 'discount': 'f4'}
servers, actors, gradients = (sys.argv[1:] + ['2', '20000'][len(sys.argv) - 2:])[:3]
cluster = 'cluster' in sys.argv[2:]

def memory(**how):
    return innet_replay.Memory(servers, fields=FIELDS, cluster=cluster, **how)

def network():
    return torch.nn.Sequential(torch.nn.Linear(4, 128), torch.nn.ReLU(),
                               torch.nn.Linear(128, 2))

def step(s, right):                     # CartPole-v1
    x, v, a, w = map(float, s)
    sin, cos = math.sin(a), math.cos(a)
    push = (20 * right - 10 + 0.05 * w * w * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
    s = np.array([x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
                  a + 0.02 * w, w + 0.02 * turn], 'f4')
    return s, abs(s[0]) > 2.4 or abs(s[2]) > math.pi / 15

def act(q, s):
    with torch.no_grad():
        return int(q(torch.from_numpy(s)).argmax())

def actor(k, n):                        # a higher k explores less
    torch.set_num_threads(1)
    rng, q, mem = np.random.default_rng(k), network(), memory()
    writer, explore = mem.writer(shard=k % len(mem.shards), n_step=3, batch=64), 0.4 ** (1 + 3 * k / max(1, n - 1))
    while True:
        got = mem.get('params')
        torch.nn.utils.vector_to_parameters(torch.frombuffer(bytearray(got), dtype=torch.float32), q.parameters())
        s, done = rng.uniform(-0.05, 0.05, 4).astype('f4'), False
        for t in range(500):
            a = int(rng.integers(2)) if rng.random() < explore else act(q, s)
            new, done = step(s, a)
            writer.append(done, truncated=t == 499, obs=s, action=a, reward=1.0, next_obs=new)
            s = new
            if done:
                break

def watch(crew):                        # fail if an actor ended early
    for k, c in enumerate(crew):
        if c.exitcode is not None:
            sys.exit('torch-apex: actor %d ended with status %d' % (k, c.exitcode))

def greedy(q):                          # the mean return of ten episodes
    total, rng = 0, np.random.default_rng(1)
    for _ in range(10):
        s, done, t = rng.uniform(-0.05, 0.05, 4).astype('f4'), False, 0
        while not done and t < 500:
            s, done = step(s, act(q, s))
            t += 1
        total += t / 10
    return total

def learn():
    torch.manual_seed(1), torch.set_num_threads(1)
    q, target = network(), network()
    target.load_state_dict(q.state_dict())
    adam, mem = torch.optim.Adam(q.parameters(), 1e-3), memory(capacity=50000)
    publish = lambda: mem.put('params', torch.nn.utils.parameters_to_vector(q.parameters()).detach().numpy().tobytes())
    publish()
    crew = [multiprocessing.Process(target=actor, args=(k, int(actors)), daemon=True) for k in range(int(actors))]
    [c.start() for c in crew]
    while len(mem) < 1000:              # wait for the first experiences
        crew[0].join(0.05)
        watch(crew)
    with mem.prefetch(64, beta=0.4) as batches:
        for n, b in zip(range(1, int(gradients) + 1), batches):
            obs, new, action, reward, discount, weight = map(torch.from_numpy, (
                b.obs, b.next_obs, b.action, b.reward, b.discount, b.weights))
            with torch.no_grad():       # double DQN
                best = target(new).gather(1, q(new).argmax(1, True)).squeeze(1)
            error = q(obs).gather(1, action.unsqueeze(1)).squeeze(1) - reward - discount * best
            adam.zero_grad()
            (weight * torch.nn.functional.smooth_l1_loss(error, torch.zeros_like(error), reduction='none')).mean().backward()
            adam.step()
            mem.update(b.ids, error.detach().abs().numpy() + 1e-3)
            if n % 20 == 0:
                publish()
                watch(crew)
            if n % 200 == 0:
                target.load_state_dict(q.state_dict())
            if n % 500 == 0:
                score = greedy(q)
                print('gradients %d return %.1f' % (n, score), flush=True)
                if score >= 475:
                    return 0
    return 1

if __name__ == '__main__':
    sys.exit(learn())
