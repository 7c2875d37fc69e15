"""Replay the recorded steps in tests/data/gym-traces.csv with Gymnasium's interface.

With this module, gymnasium-parity.py --random can be tested without Gymnasium.
The environment variable GYM_TRACES can name another file.  sample() of a space
returns the recorded action.
"""
import csv
import os

PATH = os.environ.get("GYM_TRACES") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "data", "gym-traces.csv")


class Replay:
    def __init__(self, name):
        self.name = name
        self.action_space = self

    def seed(self, seed):
        pass

    def row(self):
        r = self.rows.pop(0)
        return r, [float.fromhex(x) for x in r["observation"].split()]

    def reset(self, seed=None):
        if seed is not None:
            with open(PATH, newline="") as f:
                self.rows = [r for r in csv.DictReader(f)
                             if (r["env"], r["seed"]) ==
                             (self.name, str(seed))]
        if self.rows and self.rows[0]["step"] == "reset":
            self.obs = self.row()[1]
        return self.obs, {}     # the flags of the last step, if none were recorded

    def sample(self):
        self.now, self.obs = self.row()
        a = self.now["action"]
        return [float.fromhex(a)] if "x" in a else int(a)

    def step(self, action):
        r = self.now
        return (self.obs, float.fromhex(r["reward"]), r["terminated"] == "1",
                r["truncated"] == "1", {})


def make(name, **_):
    return Replay(name)
