"""openings_seeds.py - make seeds of channels and of sessions in the path: events of
clients, of time and of an attacker."""
from corpus_file import put


def openings():
    """Write events of workers and of an attacker: see tests/fuzz/path.c."""
    enter, up, down, again, moved, flip, time, noise = range(8)

    def op(what, worker=0, n=0):
        return worker | what << 2 | n << 5

    begun = [op(enter), op(enter, 1), op(up), op(up, 1), op(down)]
    # a packet that is sent again is recorded too, so earlier packets move back
    every = [b for k in range(0, 64, 3) for w in (0, 1)
             for b in (op(again, 0, w), k, op(moved, w), k)]
    for name, ops in (
            ("begun", begun),
            ("another-key", [op(enter, 3), op(up, 3)] + begun),
            ("sent-twice", [op(enter), op(up), op(again), 1]),
            ("left-twice", [op(enter), op(up), op(again, 0, 1), 0]),
            ("same-secret", 2 * [op(enter)] + [op(time, 0, 4), op(enter)]),
            ("overheard", begun + every + [op(enter)]),
            ("queue-again", begun + [op(time, 0, 1)] + every + [op(enter)]),
            ("queue-gone", begun + [op(time)] + every + [op(enter)]),
            ("server-again", begun + [op(time, 0, 4)] + every + [op(enter)]),
            ("later", begun + [op(time, 0, 7)] + every + [op(enter), op(up)]),
            ("flipped", begun + [b for k in range(0, 100, 3)
                                 for b in (op(flip, 0, k % 8), k % 7, k)]),
            ("noise", begun + [op(noise, 1, 1)] + 60 * [7])):
        put("path", name, bytes(ops))


def channels():
    """Write events of clients, time and an attacker: see tests/fuzz/channel.c."""
    ask, again, replay, elsewhere, flip, wait, forget, noise = range(8)

    def op(what, client=0, n=0):
        return client | what << 2 | n << 5

    opened = [op(ask), op(again), op(ask), op(ask, 1), op(again, 1)]
    for name, ops in (
            ("opened", opened),
            ("replayed", opened + [op(replay, 0, n) for n in range(8)]),
            ("elsewhere", opened + [op(elsewhere, c, n) for n in range(4)
                                    for c in range(4)]),
            ("flipped", opened + [b for n in range(0, 80, 3)
                                  for b in (op(flip, 0, n % 4), n)]),
            ("too-late", [op(ask), op(wait, 0, 6), op(again), op(again)]),
            ("forgotten", opened + [op(forget), op(replay, 0, 2), op(forget),
                                    op(replay, 0, 0), op(again), op(again)]),
            ("restarted", opened + [op(forget, 0, 7), op(replay, 0, 2),
                                    op(again), op(again), op(ask)]),
            ("other-key", [op(ask, 2), op(again, 2), op(ask, 3), op(again, 3)]),
            ("noise", opened + [op(noise, 0, 4)] + [7, 6] + 30 * [0])):
        for key in (0, 1):
            put("channel", name + "-key" * key, bytes([key] + ops))
