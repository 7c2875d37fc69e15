"""dlp_twin.py - an independent second version of the published DLP aggregators

    dlp_twin.py server|switch PORT_FILE WORKERS STEPS [median] [late] [linger]

The parameter server is pserver_avg.py or pserver_med.py, and ends after the last
step.  The switch is the variant of aggregation.p4 that broadcasts, or the one that
answers.  The switch counts the packets of any sender.  Unlike the original it ends
after its last step.  A switch takes WORKERS and STEPS from CONFIGURE.  At the end
the program prints its counters as JSON.  With `linger` it receives packets without
answering them until none has arrived for 0.5 s.
"""
import json
import socket
import statistics
import struct
import sys

WAITING, SETUP, LEARNING, ERROR, WRONG_STEP, RESET, CONFIGURE = range(7)
HEAD = struct.Struct('!BBI6i')
LAST_S = 60     # seconds without a packet


class Twin:
    def __init__(self, workers, steps, median, late):
        self.median, self.late = median, late
        self.workers, self.settings = workers, [steps, 1, 200, 1, 1, 1000]
        self.step, self.have, self.last = 0, [], [0] * 6
        self.over = False
        self.count = dict.fromkeys(
            ('packets', 'places', 'errors', 'wrong_step', 'gradients', 'twice', 'steps'), 0)

    def open(self, port_file):
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.bind(('127.0.0.1', 0))
        self.s.settimeout(LAST_S)
        with open(port_file, 'w') as f:
            f.write('%d\n' % self.s.getsockname()[1])

    def say(self, at, state, nodes, step, param=(0,) * 6):
        self.s.sendto(HEAD.pack(state, nodes, step, *param), at)

    def linger(self):
        self.s.settimeout(0.5)
        try:
            while True:
                self.s.recvfrom(64)
        except socket.timeout:
            pass

    def reduce(self):
        columns = list(zip(*self.have))
        if self.median:
            return [int(2 * statistics.median(c)) for c in columns]
        return [sum(c) for c in columns]

    def serve(self):
        while not self.over:
            packet, at = self.s.recvfrom(64)
            state, nodes, step, *param = HEAD.unpack(packet)
            self.count['packets'] += 1
            self.take(at, state, nodes, step, param)


class Server(Twin):
    """A server: it knows its workers by address in SETUP, and again in each
    step."""

    def __init__(self, *how):
        super().__init__(*how)
        self.state, self.known = SETUP, []

    def take(self, at, state, nodes, step, param):
        if state in (ERROR, WRONG_STEP):
            return
        if state != self.state:
            self.say(at, self.state, len(self.known), self.step)
        elif self.state == SETUP:
            self.register(at)
        elif step != self.step:
            self.count['wrong_step'] += 1
            self.say(at, WRONG_STEP, 0, 0)
        else:
            self.learn(at, param)

    def known_already(self, at):
        if at not in self.known:
            self.known.append(at)
            return False
        self.count['errors'] += 1
        self.say(at, ERROR, len(self.known), 0)
        return True

    def register(self, at):
        index = len(self.known)
        if not self.known_already(at):
            self.count['places'] += 1
            self.say(at, SETUP, self.workers, index, self.settings)
        if len(self.known) == self.workers:
            self.state, self.known = LEARNING, []

    def learn(self, at, param):
        if not self.known_already(at):
            self.count['gradients'] += 1
            self.have.append(param)
            if self.late:
                self.say(at, LEARNING, len(self.known), self.step, self.last)
        if len(self.known) < self.workers:
            return
        self.last = self.reduce()
        for w in self.known if not self.late else ():
            self.say(w, LEARNING, self.workers, self.step, self.last)
        self.step, self.known, self.have = self.step + 1, [], []
        self.count['steps'] += 1
        self.over = self.step == self.settings[0]


class Switch(Twin):
    """A switch: it counts packets from any sender, and begins in WAITING."""

    def __init__(self, *how):
        super().__init__(*how)
        self.state, self.nodes, self.ports, self.gave = WAITING, 0, [], set()

    def answer(self, at, *what):
        if at not in self.ports:
            self.ports.append(at)       # the addresses for broadcasts
        self.say(at, *what)

    def take(self, at, state, nodes, step, param):
        if state == RESET:
            self.state, self.step, self.nodes = WAITING, 0, 0
            self.answer(at, self.state, nodes, self.step, param)
        elif state == CONFIGURE:
            self.workers = nodes or 5
            self.settings = [p or d for p, d in zip(param, (100, 1, 200, 1, 1, 1000))]
            self.state = SETUP
            self.answer(at, CONFIGURE, self.workers, self.nodes, self.settings)
        elif state != self.state or state == WAITING:
            self.answer(at, self.state, nodes, self.step, param)
        elif state == SETUP:
            self.register(at)
        elif step != self.step:
            self.count['wrong_step'] += 1
            self.answer(at, WRONG_STEP, nodes, self.step, param)
        else:
            self.learn(at, param)

    def register(self, at):
        self.answer(at, SETUP, self.workers, self.nodes, self.settings)
        self.nodes += 1
        self.count['places'] += 1
        if self.nodes == self.workers:
            self.nodes, self.step, self.last = 0, 0, [0] * 6
            self.state = LEARNING

    def learn(self, at, param):
        self.count['twice'] += at in self.gave
        self.gave.add(at)
        self.count['gradients'] += 1
        self.have.append(param)
        self.nodes += 1
        if self.late:
            self.answer(at, LEARNING, self.nodes, self.step, self.last)
        if self.nodes < self.workers:
            return
        self.last = self.reduce()
        for w in self.ports if not self.late else ():
            self.say(w, LEARNING, self.workers, self.step, self.last)
        self.step, self.nodes, self.have, self.gave = self.step + 1, 0, [], set()
        self.count['steps'] += 1
        self.over = self.step >= self.settings[0]


def main():
    kind, port_file, workers, steps, *how = sys.argv[1:]
    twin = {'server': Server, 'switch': Switch}[kind](
        int(workers), int(steps), 'median' in how, 'late' in how)
    twin.open(port_file)
    try:
        twin.serve()
        if 'linger' in how:
            twin.linger()
    finally:
        print(json.dumps(twin.count))


if __name__ == '__main__':
    main()
