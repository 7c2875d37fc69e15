#!/usr/bin/python3
"""Learn to tell two kinds of irises apart, as one worker of a DLP session:

    innet-worker -p dlp --switch HOST:PORT -- \\
        ./iris-worker.py ../data/iris.csv WORKER WORKERS SPLIT [byzantine]

The workers train a logistic regression of versicolor against virginica, with 5
parameters, by gradient descent over the gradient stream.  The seed SPLIT selects
80 irises for training, which the workers divide among themselves, and 20 for the
test.  A Byzantine worker sends -10 g + N(0, 10) instead of its gradient g.  The
session determines the number of steps.  At the end worker 0 prints the share of
the 20 irises that it classifies correctly on standard error.
"""
import json, math, os, random, struct, sys

HEAD = struct.Struct('<4sHHIfQII')      # innet-stream(5)
VEC = struct.Struct('<5f')
HELLO, GRADIENT, RESULT, WEIGHTS, BYE = range(1, 6)
RATE = 0.5

def send(kind, body=b'', iteration=0):
    n = len(body) if kind == HELLO else len(body) // 4
    os.write(1, HEAD.pack(b'INET', kind, 0, n, 0, iteration, 1, 0) + body)

def read(n):
    data = sys.stdin.buffer.read(n)
    return data if len(data) == n else sys.exit(1)  # innet-worker has ended

def receive():
    _, kind, _, n, _, _, count, _ = HEAD.unpack(read(HEAD.size))
    return kind, count, read(n if kind == HELLO else 4 * n)

def irises(path, split):                # train and test: ((1, features), class)
    with open(path) as f:
        rows = [line.rstrip().split(',') for line in f][1:]
    rows = [([float(v) for v in r[:4]], float(r[4] == 'virginica'))
            for r in rows if r[4] != 'setosa']
    random.Random(split).shuffle(rows)
    columns = list(zip(*(x for x, _ in rows[:80])))
    mean = [sum(c) / 80 for c in columns]
    sd = [math.sqrt(sum((v - m) ** 2 for v in c) / 80)
          for c, m in zip(columns, mean)]
    rows = [([1.0] + [(v - m) / s for v, m, s in zip(x, mean, sd)], y)
            for x, y in rows]
    return rows[:80], rows[80:]

def score(w, x):
    return sum(a * b for a, b in zip(w, x))

def gradient(w, rows):
    g = [0.0] * 5
    for x, y in rows:
        e = 1 / (1 + math.exp(-max(-50, min(50, score(w, x))))) - y
        for i in range(5):
            g[i] += e * x[i] / len(rows)
    return g

def main():
    path, me, workers, split = sys.argv[1], *map(int, sys.argv[2:5])
    byzantine = sys.argv[5:] == ['byzantine']
    train, test = irises(path, split)
    mine = train[me::workers]
    chance = random.Random(1000 * split + me)
    w = [0.0] * 5
    send(HELLO, b'{"version":1,"elements":5,"name":"iris"}')
    send(WEIGHTS, VEC.pack(*w))
    kind, _, hello = receive()
    for step in range(json.loads(hello)['iterations']):
        g = gradient(w, mine)
        if byzantine:
            g = [-10 * v + chance.gauss(0, 10) for v in g]
        send(GRADIENT, VEC.pack(*g), step)
        kind, count, body = receive()
        w = [a - RATE * b / count for a, b in zip(w, VEC.unpack(body))]
    send(BYE)
    if me == 0:
        right = sum((score(w, x) > 0) == (y > 0) for x, y in test)
        print('accuracy %.2f' % (right / len(test)), file=sys.stderr)

main()
