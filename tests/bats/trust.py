"""trust.py - cookies and MACs of control messages: innet-wire(5), not the C

usage: trust.py tail KEY PASS COUNTER MESSAGE [WAY]
    what stands behind header and body MESSAGE in hex: PASS, and the seal of
    that counter under the key file; WAY 2: of an answer to who has PASS, the
    seal alone
"""
import hashlib
import hmac
import os
import socket
import struct
import sys

PASS, SEAL, COMMANDS = 0x02, 0x04, 0x08
ASKS, ANSWERS = 1, 2
ACK, PROVE, BAD_MAC = 8, 9, 7


def H(key, label, *parts):
    return hmac.new(key, label.encode().ljust(16, b"\0") + b"".join(parts),
                    hashlib.sha256).digest()


def cookie_make(secret, at, nonce, t):
    """Of an address as socket has it: (host, port, ...)."""
    v6 = ":" in at[0]
    a = socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, at[0])
    head = nonce + struct.pack(">Q", t)
    return head + H(secret, "innet 1 pass", bytes([6 if v6 else 4]),
                    a.ljust(16, b"\0"), struct.pack(">H", at[1]), head)[:8]


def channel_key(key, the_pass):
    return H(key, "innet 1 channel", the_pass)


def seal(kc, message, counter, way):
    message += struct.pack(">Q", counter)
    return message + H(kc, "innet 1 control", bytes([way]), message)[:16]


def sealed(kc, message, way):
    return len(message) >= 32 and hmac.compare_digest(
        message[-16:], H(kc, "innet 1 control", bytes([way]),
                         message[:-16])[:16])


def message(action, job, xid, body=b"", the_pass=None, kc=None, counter=0,
            way=ASKS, flags=0):
    flags |= (PASS if the_pass else 0) | (SEAL if kc else 0)
    m = struct.pack(">BBHI", action, flags, job, xid) + body + (the_pass or b"")
    return seal(kc, m, counter, way) if kc else m


def parse(m):
    """(action, flags, job, xid, body, pass, counter)"""
    action, flags, job, xid = struct.unpack(">BBHI", m[:8])
    end, the_pass, counter = len(m), None, 0
    if flags & SEAL:
        end -= 24
        counter = struct.unpack(">Q", m[end:end + 8])[0]
    if flags & PASS:
        end -= 24
        the_pass = m[end:end + 24]
    return action, flags, job, xid, m[8:end], the_pass, counter


class Client:
    """What is asked with a key, or None, through send(); hear() what comes."""

    def __init__(self, send, key=None, commands=False):
        self.send, self.key = send, key
        self.flags = COMMANDS if commands else 0
        self.nonce = os.urandom(8)
        self.the_pass, self.kc, self.counter = self.nonce + bytes(16), None, 0

    def ask(self, action, job, xid, body=b""):
        self.last = action, job, xid, body
        if self.kc is None:
            body = body.ljust(2, b"\0")
        self.counter += 1
        m = message(action, job, xid, body, self.the_pass, self.kc,
                    self.counter, flags=self.flags if self.kc else 0)
        self.send(m)
        return m

    def hear(self, m):
        """(status, body) of the answer, or None; a challenge is answered."""
        a = parse(m)
        if a[0] != ACK or a[3] != self.last[2]:
            return None
        if a[4][1] == PROVE:
            if a[5] and a[5][:8] == self.nonce:
                self.the_pass, self.counter = a[5], 0
                if self.key is not None:
                    self.kc = channel_key(self.key, a[5])
                self.ask(*self.last)
            return None
        if self.key is None:
            good = a[5] == self.the_pass
        else:
            good = self.kc is not None and sealed(self.kc, m, ANSWERS)
        return (a[4][1], a[4]) if good or a[4][1] == BAD_MAC else None


if __name__ == "__main__":
    key, p, counter, text = sys.argv[2:6]
    way = int(sys.argv[6]) if len(sys.argv) > 6 else ASKS
    m = bytes.fromhex(text)
    the_pass = bytes.fromhex(p)
    kc = channel_key(open(key, "rb").read(), the_pass)
    whole = seal(kc, m + (the_pass if way == ASKS else b""), int(counter), way)
    print(whole[len(m):].hex())
