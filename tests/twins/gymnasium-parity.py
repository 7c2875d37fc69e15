#!/usr/bin/env python3
"""gymnasium-parity.py - compare innet-agent's environments with Gymnasium

    gymnasium-parity.py [--steps N] [--seeds A,B] [--env NAME]...

The program plays each environment of Gymnasium, and MinAtar's Breakout, for N steps
with each seed (default 20000 steps; seeds 0, 1, 2 and 7).  It gives envtrace the
same actions, and compares the two to the last bit: observations as floats, rewards
as doubles, and both flags.  Environments that are not installed are skipped.  The
program prints TAP; the exit status is 1 if a bit differs.

    --against MODULE    use another module with Gymnasium's make()
    --random            play only random actions; otherwise a rule that reaches
                        the goal plays every second episode
    --trace PROGRAM     use PROGRAM instead of envtrace in PATH (make check
                        builds it in tests/)

The results agree to the last bit with numpy 1 on processors where numpy takes sines
and cosines of doubles from the C library.  With AVX-512 numpy has its own functions,
so AVX-512 is switched off here.  numpy 2 computes with single floats in more places,
so two environments are skipped there.
"""
import argparse
import importlib
import math
import os
import random
import struct
import subprocess
import sys

CLASSIC = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0",
           "Acrobot-v1", "Pendulum-v1"]
BREAKOUT = "MinAtar/Breakout-v1"
SINGLE = ["MountainCarContinuous-v0", "Pendulum-v1"]    # as in numpy 2


def libm_only():
    """Make numpy, which is not imported yet, not use AVX-512."""
    try:
        with open("/proc/cpuinfo") as f:
            flags = set(f.read().split())
    except OSError:
        return
    # numpy's names for features, and the processor features that they need
    parts = {"AVX512F": "avx512f", "AVX512CD": "avx512cd",
             "AVX512_SKX": "avx512dq", "AVX512_CLX": "avx512_vnni",
             "AVX512_CNL": "avx512_vbmi2", "AVX512_ICL": "avx512_bitalg"}
    off = [n for n, flag in parts.items() if flag in flags]
    if off:
        os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", " ".join(off))


def random_state(seed):
    """Return a RandomState of numpy, which takes 32 bits or a list of these.
    """
    import numpy
    return numpy.random.RandomState(
        seed if seed < 1 << 32 else [seed % (1 << 32), seed >> 32])


class MinAtar:
    """Give MinAtar's Breakout the interface of a Gymnasium environment."""

    def __init__(self):
        self.game = importlib.import_module("minatar").Environment("breakout")
        self.action_space = self

    def seed(self, seed):
        self.random = random.Random(seed)

    def sample(self):
        return self.random.randrange(3)

    def seen(self):
        return self.game.state().ravel(), {}

    def reset(self, seed=None):
        if seed is not None:
            self.game.random = random_state(seed)
            self.game.env.random = self.game.random
            self.game.last_action = 0
        self.game.reset()
        return self.seen()

    def step(self, action):
        reward, over = self.game.act((0, 1, 3)[action])
        return self.seen()[0], reward, over, False, {}


def make(module, name):
    if name == BREAKOUT and module == "gymnasium":
        return MinAtar()
    kw = {"disable_env_checker": True} if module == "gymnasium" else {}
    return importlib.import_module(module).make(name, **kw)


def follow_ball(obs):
    column = {c: i // 4 % 10 for c in (0, 1)
              for i in range(c, 400, 4) if obs[i]}
    return 0 if column[0] == column[1] else 1 if column[0] > column[1] else 2


def like(x):
    """Return an action of one number in Gymnasium's format."""
    import numpy
    return numpy.array([x], dtype=numpy.float32)


# Simple policies that make progress: keep the motion, balance, follow the ball.
RULES = {
    "CartPole-v1": lambda o: int(o[2] + 0.5 * o[3] > 0),
    "MountainCar-v0": lambda o: 2 if o[1] >= 0 else 0,
    "MountainCarContinuous-v0": lambda o: like(math.copysign(1.0, o[1])),
    "Acrobot-v1": lambda o: 2 if o[5] > 0 else 0,
    "Pendulum-v1": lambda o: like(-8 * math.atan2(o[1], o[0]) - 2 * o[2]
                                  if o[0] > 0.8
                                  else math.copysign(2.0, o[2])),
    BREAKOUT: follow_ball,
}


def bits(kind, values):
    return struct.pack("%d%s" % (len(values), kind), *values)


def row(step, action, reward, over, late, obs):
    obs = [float(x) for x in obs]
    return (step, action, bits("d", [float(reward)]), bool(over), bool(late),
            bits("f", obs))


def played(env, name, seed, steps, by_rule):
    """Yield a row for each step of env, as row() makes them."""
    env.action_space.seed(seed)
    obs, _ = env.reset(seed=seed)
    yield row("reset", None, 0, False, False, obs)
    step = episode = 0
    for _ in range(steps):
        a = env.action_space.sample()
        if by_rule and episode % 2 == 1:
            a = RULES[name](obs)
        obs, reward, over, late, _ = env.step(a)
        text = "%d" % a if not hasattr(a, "__len__") else float(a[0]).hex()
        yield row(str(step), text, reward, over, late, obs)
        step += 1
        if over or late:
            obs, _ = env.reset()
            yield row("reset", None, 0, False, False, obs)
            step = 0
            episode += 1


def traced(program, name, seed, actions):
    """Yield the same rows for our environment, from envtrace."""
    p = subprocess.run([program, name, str(seed)], input="\n".join(actions),
                       stdout=subprocess.PIPE, text=True, check=True)
    for line in p.stdout.splitlines():
        _, _, step, a, reward, over, late, obs = line.split(",")
        obs = [float.fromhex(x) for x in obs.split()]
        if step == "reset":
            yield row(step, None, 0, False, False, obs)
        else:
            yield row(step, a, float.fromhex(reward), over == "1",
                      late == "1", obs)


def seed_list(text):
    """Return the seeds of up to 64 bits in N,N,..."""
    for s in text.split(","):
        if not (s.isascii() and s.isdigit() and int(s) < 1 << 64):
            raise argparse.ArgumentTypeError("not of 64 bits: '%s'" % s)
    return [int(s) for s in text.split(",")]


PARTS = "step", "action", "reward", "terminated", "truncated", "observation"


def compare(module, program, name, seed, steps, by_rule):
    """Return the first difference, or None."""
    theirs = list(played(make(module, name), name, seed, steps, by_rule))
    ours = list(traced(program, name, seed, [r[1] for r in theirs if r[1]]))
    for n, (a, b) in enumerate(zip(theirs, ours)):
        for part, x, y in zip(PARTS, a, b):
            if part == "action" and x is not None:
                x, y = float.fromhex(x), float.fromhex(y)
            if x != y:
                return "row %d, step %s: %s" % (n, a[0], part)
    if len(theirs) != len(ours):
        return "%d rows, not %d" % (len(ours), len(theirs))
    return None


def lacks(module, name):
    """Return why the environment cannot be compared, or None."""
    need = "minatar" if (name, module) == (BREAKOUT, "gymnasium") else module
    try:
        importlib.import_module(need)
    except ImportError as e:
        return str(e)
    numpy = sys.modules.get("numpy")
    if numpy and module == "gymnasium" and name in SINGLE and \
            int(numpy.__version__.split(".")[0]) >= 2:
        return "numpy %s" % numpy.__version__
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--steps", type=int, default=20000)
    p.add_argument("--seeds", type=seed_list, default="0,1,2,7")
    p.add_argument("--env", action="append",
                   choices=CLASSIC + [BREAKOUT])
    p.add_argument("--against", default="gymnasium")
    p.add_argument("--random", action="store_true")
    p.add_argument("--trace", default="envtrace")
    o = p.parse_args()
    libm_only()
    names = o.env or CLASSIC + [BREAKOUT]
    print("1..%d" % (len(names) * len(o.seeds)), flush=True)
    n = failed = 0
    for name in names:
        why = lacks(o.against, name)
        for seed in o.seeds:
            n += 1
            what = "%d - %s seed %d, %d steps" % (n, name, seed, o.steps)
            if why:
                print("ok %s # SKIP %s" % (what, why))
                continue
            differs = compare(o.against, o.trace, name, seed, o.steps,
                              not o.random)
            if differs:
                failed = 1
                print("not ok %s\n# %s" % (what, differs))
            else:
                print("ok %s" % what, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
