"""Twins of the environments, written only from the rules and formulas of the design.

They are simple, and independent of cmd/innet-agent/env/*.c.  gymnasium-parity.py
compares the environments with this module where Gymnasium or MinAtar is not
installed.  Random numbers are those of numpy.  Doubles are Python's, so sines and
powers are those of the C library.  Floats are numpy's.
"""
import math

import numpy as np

PI = math.pi


def f32(x):
    return float(np.float32(x))


def clip(x, low, high):
    return max(low, min(high, x))



class Space:
    """The possible actions: one of n, or a number from low to high."""

    def __init__(self, n=None, low=None, high=None):
        self.n, self.low, self.high = n, low, high

    def seed(self, seed):
        self.random = np.random.default_rng(seed + 1000003)

    def sample(self):
        if self.n is not None:
            return int(self.random.integers(self.n))
        # a little beyond the bounds, because the rules cover this too
        wide = 1.1 * (self.high - self.low) / 2
        return np.array([self.random.uniform(-wide, wide)], np.float32)


class Env:
    limit = None

    def generator(self, seed):
        return np.random.Generator(np.random.PCG64(seed))

    def reset(self, seed=None):
        if seed is not None:
            self.random = self.generator(seed)
        self.steps = 0
        return self.begin(), {}

    def step(self, action):
        reward, over = self.move(action)
        self.steps += 1
        late = self.limit is not None and self.steps >= self.limit
        return self.seen(), reward, over, late, {}

    def begin(self):
        self.start()
        return self.seen()

    def close(self):
        pass


class CartPole(Env):
    action_space = Space(2)
    limit = 500

    def start(self):
        self.s = [self.random.uniform(-0.05, 0.05) for _ in range(4)]

    def move(self, a):
        x, v, th, w = self.s
        c, s = math.cos(th), math.sin(th)
        tmp = ((10.0 if a else -10.0) + 0.05 * (w * w) * s) / 1.1
        acc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * (c * c) / 1.1))
        self.s = [x + 0.02 * v, v + 0.02 * (tmp - 0.05 * acc * c / 1.1),
                  th + 0.02 * w, w + 0.02 * acc]
        x, th = self.s[0], self.s[2]
        return 1.0, abs(x) > 2.4 or abs(th) > 12 * 2 * PI / 360

    def seen(self):
        return [f32(x) for x in self.s]


class MountainCar(Env):
    action_space = Space(3)
    limit, goal = 200, 0.5

    def start(self):
        self.p, self.v = self.random.uniform(-0.6, -0.4), 0.0

    def roll(self, push):
        v = clip(self.v + push, -0.07, 0.07)
        p = clip(self.p + v, -1.2, 0.6)
        if p == -1.2 and v < 0:
            v = 0.0
        self.p, self.v = p, v
        return p >= self.goal and v >= 0

    def move(self, a):
        push = (a - 1) * 0.001 + math.cos(3 * self.p) * (-0.0025)
        return -1.0, self.roll(push)

    def seen(self):
        return [f32(self.p), f32(self.v)]


class MountainCarContinuous(MountainCar):
    action_space = Space(low=-1, high=1)
    limit, goal = 999, 0.45

    def move(self, action):
        a = float(action[0])
        over = self.roll(clip(a, -1, 1) * 0.0015
                         - 0.0025 * math.cos(3 * self.p))
        self.p, self.v = f32(self.p), f32(self.v)
        return (100.0 if over else 0.0) - math.pow(a, 2) * 0.1, over


class Acrobot(Env):
    action_space = Space(3)
    limit = 500

    def start(self):
        self.s = self.random.uniform(-0.1, 0.1, 4).astype(np.float32)

    def slope(self, s, torque):
        t1, t2, w1, w2 = s
        c, si = math.cos(t2), math.sin(t2)
        m1 = m2 = l1 = i1 = i2 = 1.0
        lc1 = lc2 = 0.5
        g = 9.8
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * c) + i1 + i2
        d2 = m2 * (lc2**2 + l1 * lc2 * c) + i2
        phi2 = m2 * lc2 * g * math.cos(t1 + t2 - PI / 2)
        phi1 = (-m2 * l1 * lc2 * w2**2 * si - 2 * m2 * l1 * lc2 * w2 * w1 * si
                + (m1 * lc1 + m2 * l1) * g * math.cos(t1 - PI / 2) + phi2)
        a2 = ((torque + d2 / d1 * phi1 - m2 * l1 * lc2 * w1**2 * si - phi2)
              / (m2 * lc2**2 + i2 - d2**2 / d1))
        return w1, w2, -(d2 * a2 + phi1) / d1, a2

    def move(self, action):
        def at(k, h):
            return [x + h * d for x, d in zip(s, k)]
        s, a = [float(x) for x in self.s], float(action - 1)
        k1 = self.slope(s, a)
        k2 = self.slope(at(k1, 0.1), a)
        k3 = self.slope(at(k2, 0.1), a)
        k4 = self.slope(at(k3, 0.2), a)
        s = [x + 0.2 / 6.0 * (p + 2 * q + 2 * r + t)
             for x, p, q, r, t in zip(s, k1, k2, k3, k4)]
        for i in 0, 1:
            while s[i] > PI:
                s[i] -= 2 * PI
            while s[i] < -PI:
                s[i] += 2 * PI
        s[2] = clip(s[2], -4 * PI, 4 * PI)
        s[3] = clip(s[3], -9 * PI, 9 * PI)
        self.s = s
        over = -math.cos(s[0]) - math.cos(s[1] + s[0]) > 1
        return (0.0 if over else -1.0), over

    def seen(self):
        t1, t2, w1, w2 = self.s
        if isinstance(self.s, list):
            circle = math.cos(t1), math.sin(t1), math.cos(t2), math.sin(t2)
        else:               # the first state of an episode, from numpy as floats
            circle = np.cos(t1), np.sin(t1), np.cos(t2), np.sin(t2)
        return [f32(x) for x in (*circle, w1, w2)]


class Pendulum(Env):
    action_space = Space(low=-2, high=2)
    limit = 200

    def start(self):
        self.th = self.random.uniform(-PI, PI)
        self.w = self.random.uniform(-1, 1)

    def move(self, action):
        u = clip(float(action[0]), -2, 2)
        th = (self.th + PI) % (2 * PI) - PI
        cost = math.pow(th, 2) + 0.1 * math.pow(self.w, 2) + 0.001 * u**2
        self.w += (15.0 * math.sin(self.th) + 3.0 * u) * 0.05
        self.w = clip(self.w, -8.0, 8.0)
        self.th += self.w * 0.05
        return -cost, False

    def seen(self):
        return [f32(math.cos(self.th)), f32(math.sin(self.th)), f32(self.w)]


class Breakout(Env):
    """Breakout by the rules of MinAtar, with the actions none, left and right.
    """
    action_space = Space(3)
    sticky = 0

    def generator(self, seed):
        self.sticky = 0
        high, low = divmod(seed, 1 << 32)
        return np.random.RandomState([low, high] if high else low)

    def start(self):
        if self.random.randint(2) == 0:
            self.ball, self.dir = (0, 3), (1, 1)
        else:
            self.ball, self.dir = (9, 3), (-1, 1)
        self.trail = self.ball
        self.paddle = 4
        self.wall = {(x, y) for x in range(10) for y in (1, 2, 3)}
        self.strike = False

    def move(self, action):
        if not self.random.rand() < 0.1:
            self.sticky = action
        self.paddle = clip(self.paddle + (0, -1, 1)[self.sticky], 0, 9)
        ox, oy = self.trail = self.ball
        dx, dy = self.dir
        x, y, reward, over, met = ox + dx, oy + dy, 0.0, False, False
        if not 0 <= x <= 9:
            x, dx = clip(x, 0, 9), -dx
        if y < 0:
            y, dy = 0, -dy
        elif (x, y) in self.wall:
            met = True
            if not self.strike:
                self.strike, reward = True, 1.0
                self.wall.remove((x, y))
                y, dy = oy, -dy
        elif y == 9:
            if not self.wall:
                self.wall = {(x, y) for x in range(10) for y in (1, 2, 3)}
            if ox == self.paddle:
                y, dy = oy, -dy
            elif x == self.paddle:
                y, dx, dy = oy, -dx, -dy
            else:
                over = True
        if not met:
            self.strike = False
        self.ball, self.dir = (x, y), (dx, dy)
        return reward, over

    def seen(self):
        board = [0.0] * 400
        board[(9 * 10 + self.paddle) * 4] = 1.0
        for channel, (x, y) in (1, self.ball), (2, self.trail):
            board[(y * 10 + x) * 4 + channel] = 1.0
        for x, y in self.wall:
            board[(y * 10 + x) * 4 + 3] = 1.0
        return board


_all = {
    "CartPole-v1": CartPole,
    "MountainCar-v0": MountainCar,
    "MountainCarContinuous-v0": MountainCarContinuous,
    "Acrobot-v1": Acrobot,
    "Pendulum-v1": Pendulum,
    "MinAtar/Breakout-v1": Breakout,
}


def make(name, **_):
    return _all[name]()
