#!/usr/bin/env python3
"""resp_twin.py PORT PORT - send the same requests to two servers of the Redis
protocol

The program prints the replies that differ; the exit status is then 1.  Each case has
its own connection and is a string of bytes.  After these bytes the program sends a
PING.  A server has answered when it has answered the PING or closed the connection.
After a line without an end there is no PING.
"""
import socket
import sys

MARK = b"+end-of-case\r\n"


def req(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def many(text):
    return b"".join(req(*line.split()) for line in text.split("\n") if line)


BIG = b"x" * 100000
LINE = 65537        # the shortest request that is refused before it is complete

CASES = {
    "ping": many("PING\nping hello\nPING a b\nECHO x\nECHO\nECHO a b"),
    "echo an empty one": req("ECHO", "") + req("PING", ""),
    "set and get": many("SET a 1\nGET a\nGET none\nGET\nGET a b\nSET a\n"
                        "STRLEN a\nSTRLEN none\nEXISTS a a b\nTYPE a\n"
                        "TYPE none\nDEL a b a\nGET a\nUNLINK a"),
    "set options": many("SET a 1 XX\nSET a 1 NX\nSET a 2 NX\nGET a\n"
                        "SET a 3 XX GET\nSET b 4 GET\nSET a 5 NX XX\n"
                        "SET a 5 FOO\nSET c 1 NX GET\nSET c 2 NX GET\nGET c\n"
                        "SET d 1 XX GET\nEXISTS d"),
    "mget": many("SET a 1\nRPUSH l 1\nMGET a l none a\nMGET"),
    "a big one": req("SET", "k", BIG) + req("GET", "k") + req("STRLEN", "k"),
    "wrong type": many("SET s 1\nRPUSH l 1\nGET l\nLLEN s\nRPUSH s 1\nLPUSH s 1"
                       "\nLPOP s\nRPOP s\nLINDEX s 0\nLINDEX s x\nLRANGE s 0 1"
                       "\nLRANGE s x y\nLTRIM s 0 1\nLTRIM s x 1\nSTRLEN l\n"
                       "SET l 1 GET\nSET l 5\nGET l\nRPUSHX s 1\nLPOP s 0"),
    "push and pop": many("RPUSH l a b c\nLPUSH l z y\nLLEN l\nLRANGE l 0 -1\n"
                         "LPOP l\nRPOP l\nLPOP l 2\nRPOP l 9\nLPOP l\nLPOP l 1"
                         "\nRPOP l 0\nEXISTS l\nTYPE l\nRPUSH l\nLPUSH\n"
                         "RPUSHX l 1\nLPUSHX l 1\nRPUSH l 1\nRPUSHX l 2 3\n"
                         "LPUSHX l 0\nLRANGE l 0 -1\nLPOP l 0\nLPOP l -1\n"
                         "LPOP l x\nLPOP l 1 2\nLPOP\nLPOP none -1\nTYPE l"),
    "index": many("RPUSH l a b c\n" + "\n".join(
        "LINDEX l %s" % i for i in "0 1 2 3 -1 -3 -4 x 1x 9223372036854775808"
        .split()) + "\nLINDEX none 0\nLINDEX none x\nLINDEX l"),
    "range": many("RPUSH l a b c d e\n" + "\n".join(
        "LRANGE l %s" % r for r in ("0 0", "1 2", "-2 -1", "0 99", "5 9",
                                    "3 1", "-99 1", "-99 -98", "x 1", "1 x",
                                    "0", "0 1 2", "-1 0"))
        + "\nLRANGE none 0 -1\nLRANGE none x 1"),
    "trim": many("\n".join(
        "DEL l\nRPUSH l a b c d e\nLTRIM l %s\nLRANGE l 0 -1\nEXISTS l" % r
        for r in ("0 -1", "1 2", "-2 -1", "3 1", "5 9", "0 99", "-99 0",
                  "x 1", "0")) + "\nLTRIM none 0 1\nLTRIM none x 1"),
    "multi": many("EXEC\nDISCARD\nMULTI\nMULTI\nSET a 1\nGET a\nRPUSH a 1\n"
                  "PING\nEXEC\nGET a\nMULTI\nSET a 2\nDISCARD\nGET a\nMULTI\n"
                  "EXEC\nMULTI x\nEXEC\nEXEC x\nMULTI\nEXEC x\nEXEC"),
    "multi spoilt": many("MULTI\nNOSUCH\nSET a 1\nEXEC\nGET a\nMULTI\nGET\n"
                         "EXEC\nMULTI\nWATCH a\nSET a 1\nEXEC\nGET a\n"
                         "MULTI\nCLIENT NOSUCH\nEXEC\nMULTI\nSHUTDOWN FOO\n"
                         "EXEC"),
    "multi keeps a big one": req("MULTI") + req("SET", "k", BIG) +
    req("RPUSH", "l", BIG, "1", BIG) + req("GET", "k") +
    req("LRANGE", "l", 0, -1) + req("EXEC") + req("GET", "k"),
    "watch": many("SET a 1\nWATCH a\nMULTI\nGET a\nEXEC\nWATCH a b\nSET a 2\n"
                  "MULTI\nGET a\nEXEC\nWATCH a\nSET a 3\nUNWATCH\nMULTI\n"
                  "GET a\nEXEC\nWATCH none\nMULTI\nPING\nEXEC\nWATCH none\n"
                  "SET none 1\nMULTI\nPING\nEXEC\nWATCH\nUNWATCH x\nWATCH a\n"
                  "DEL a\nMULTI\nPING\nEXEC\nWATCH l\nRPUSH l 1\nMULTI\n"
                  "PING\nEXEC\nWATCH a\nFLUSHALL\nMULTI\nPING\nEXEC\n"
                  "MULTI\nUNWATCH\nEXEC"),
    "reset and quit": many("MULTI\nSET a 1\nRESET\nEXEC\nGET a\nRESET x\nQUIT"),
    "quit in a transaction": many("MULTI\nQUIT"),
    "select": many("SELECT 0\nSELECT 99999\nSELECT x\nSELECT\nSELECT 0 1"),
    "auth without a password": many("AUTH x\nAUTH default x\nAUTH\n"
                                    "AUTH a b c"),
    "hello": many("HELLO 4\nHELLO x\nHELLO 2 FOO\nHELLO 2 SETNAME\n"
                  "HELLO 1\nHELLO 2 AUTH default"),
    "hello answers": many("HELLO 4 SETNAME x\nCLIENT GETNAME"),
    "client": many("CLIENT\nCLIENT NOSUCH\nCLIENT GETNAME\nCLIENT SETNAME me\n"
                   "CLIENT GETNAME\nCLIENT SETNAME\nclient|id\nCLIENT ID x\n"
                   "CLIENT NO-EVICT on\nCLIENT NO-EVICT x\nCLIENT KILL 1.2.3.4:5"
                   "\nCLIENT KILL ID 0\nCLIENT LIST FOO\nCLIENT KILL ID 999999\n"
                   "CLIENT LIST ID x")
    + req("CLIENT", "SETNAME", "a b") + req("CLIENT", "SETNAME", "")
    + req("CLIENT", "GETNAME"),
    "unknown": many("FOO\nfoo bar baz\nFOO " + " ".join(
        "a" * 30 for _ in range(10))) + req("FOO\r\nBAR", "\r\n") +
    req("F" * 200, "x" * 200) + req("") + req("", ""),
    "arity": many("\n".join(
        "DBSIZE x|FLUSHALL x|FLUSHALL async sync|EXISTS|DEL|TYPE|TYPE a b|"
        "LLEN|LLEN a b|CONFIG|CONFIG GET|CONFIG SET a|CONFIG SET a b|"
        "CONFIG FOO|COMMAND FOO|COMMAND COUNT x|SHUTDOWN FOO".split("|"))),
    "flush": many("SET a 1\nRPUSH l 1\nDBSIZE\nFLUSHALL\nDBSIZE\nSET a 1\n"
                  "FLUSHDB\nDBSIZE\nFLUSHDB ASYNC\nFLUSHALL sync"),
    "config get": many("CONFIG GET save\nCONFIG GET appendonly\n"
                       "CONFIG GET nosuch"),
    "many at once": b"".join(req("SET", "k%d" % (i % 10), i) +
                             req("GET", "k%d" % (i % 10)) for i in range(5000)),
    "set with options": many(
        "SET a 1 EX 100\nTTL a\nSET a 2 KEEPTTL\nTTL a\nSET a 3\nTTL a\n"
        "SET a 4 PXAT 99999999999999\nPEXPIRETIME a\nEXPIRETIME a\n"
        "SET a 5 EXAT 9999999999 GET\nEXPIRETIME a\nSET a 6 NX GET\nGET a\n"
        "SET b 1 XX\nSET b 1 XX GET\nSET b 1 NX\nSET b 2 NX\nSET a x EX 0\n"
        "SET a x EX -1\nSET a x EX y\nSET a x EX\nSET a x EX 10 PX 10\n"
        "SET a x EX 10 KEEPTTL\nSET a x KEEPTTL EX 10\nSET a x NX XX\n"
        "SET a x EX 9223372036854775807\nSET a x PX 9223372036854775807\n"
        "SET a x PXAT 1\nGET a\nEXISTS a\nSET a x NX EX 100\nTTL a\n"
        "SET l x\nDEL l\nRPUSH l 1\nSET l x GET\nSET l x XX EX 50\nTTL l\n"
        "SETEX a 10 v\nTTL a\nPSETEX a 100000 v\nTTL a\nSETEX a 0 v\n"
        "PSETEX a x v\nSETNX a v\nSETNX c v\nGETSET c w\nGETSET d w\n"
        "GETSET a w\nTTL a\nRPUSH m 1\nGETSET m x\nSETEX m 10 x\nTYPE m"),
    "expire": many(
        "EXPIRE a 10\nSET a 1\nTTL a\nPTTL a\nTTL b\nPTTL b\nEXPIRE a 100\n"
        "TTL a\nEXPIRE a 50 GT\nTTL a\nEXPIRE a 200 GT\nTTL a\nEXPIRE a 300 LT\n"
        "EXPIRE a 20 LT\nTTL a\nEXPIRE a 5 NX\nEXPIRE a 7 XX\nTTL a\nPERSIST a\n"
        "PERSIST a\nPERSIST b\nTTL a\nEXPIRE a 9 XX\nEXPIRE a 9 GT\nEXPIRE a 9 LT\n"
        "TTL a\nPERSIST a\nEXPIRE a 9 NX\nEXPIRE a x\nEXPIRE a 1 FOO\n"
        "EXPIRE a 1 NX XX\nEXPIRE a 1 GT LT\nEXPIRE a 9223372036854775807\n"
        "PEXPIRE a 9223372036854775807\nPEXPIRE a 100000\nTTL a\n"
        "EXPIREAT a 9999999999\nEXPIRETIME a\nPEXPIREAT a 9999999999001\n"
        "PEXPIRETIME a\nEXPIRETIME a\nEXPIRETIME b\nEXPIREAT a 1\nEXISTS a\n"
        "SET a 1\nEXPIRE a -5\nGET a\nRPUSH l 1\nEXPIRE l 100\nRPUSH l 2\n"
        "TTL l\nLPOP l 2\nTTL l\nSET a 1\nWATCH a\nEXPIRE a 100\nMULTI\nPING\n"
        "EXEC\nSET a 1\nINCR a\nEXPIRE a 100\nINCR a\nTTL a\nEXPIRE\nTTL"),
    "counters": many(
        "INCR a\nINCR a\nDECR a\nINCRBY a 10\nDECRBY a 3\nGET a\nINCRBY a x\n"
        "INCRBY a 1.5\nSET a 9223372036854775807\nINCR a\nDECRBY a -1\n"
        "DECRBY a -9223372036854775808\nSET a x\nINCR a\nSET a ' 1'\nINCR a\n"
        "SET a 01\nINCR a\nRPUSH l 1\nINCR l\nINCRBYFLOAT l 1\nDEL a\n"
        "INCRBYFLOAT a 1.5\nINCRBYFLOAT a 0.1\nINCRBYFLOAT a -3\nGET a\n"
        "INCRBYFLOAT a x\nINCRBYFLOAT a 1e400\nINCRBYFLOAT a nan\n"
        "INCRBYFLOAT a inf\nSET a 5.0e3\nINCRBYFLOAT a 200\nINCRBYFLOAT a 1e20\n"
        "SET a 3.0\nINCRBYFLOAT a 1\nINCR a\nINCRBYFLOAT b -0\nINCR"),
    "many strings": many(
        "MSET a 1 b 2\nMGET a b c\nMSET a\nMSET a 1 b\nMSETNX c 1 a 2\nMGET a c\n"
        "MSETNX c 1 d 2\nMGET c d\nRPUSH l 1\nMSET l x\nGET l\nMSET a 1 a 2\n"
        "GET a\nGETDEL a\nGETDEL a\nRPUSH m 1\nGETDEL m\nSETNX m 1\nMSETNX\nGETDEL"),
    "lists that change": many(
        "RPUSH l a b a c a\nLSET l 0 x\nLSET l -1 y\nLRANGE l 0 -1\nLSET l 5 z\n"
        "LSET l -6 z\nLSET l q z\nLSET none 0 z\nLSET none q z\nLREM l 0 a\n"
        "LRANGE l 0 -1\nDEL l\nRPUSH l a b a c a\nLREM l 2 a\nLRANGE l 0 -1\n"
        "RPUSH l b a b\nLREM l -2 b\nLRANGE l 0 -1\nLREM l -1 a\nLRANGE l 0 -1\n"
        "LREM l x a\nLREM none 0 a\nLREM l 0 none\nLREM l 0 c\nLREM l 0 a\n"
        "LREM l 0 b\nEXISTS l\nSET s 1\nLREM s 0 a\nLSET s 0 a\nLREM s x a\n"
        "RPUSH p 1 2 3 4\nLPOP p\nRPUSH p 5 6 7 8 9 10\nLREM p -1 6\nLRANGE p 0 -1\n"
        "LREM p 1 2\nLRANGE p 0 -1"),
    "lists that move": many(
        "RPUSH l 1 2 3\nLMOVE l m LEFT RIGHT\nLMOVE l m right left\nLRANGE m 0 -1\n"
        "LMOVE l l LEFT RIGHT\nLMOVE l m LEFT LEFT\nEXISTS l\nLMOVE l m LEFT LEFT\n"
        "LMOVE m m LEFT RIGHT\nLRANGE m 0 -1\nLMOVE m m RIGHT LEFT\nLRANGE m 0 -1\n"
        "LMOVE m m FOO LEFT\nLMOVE m m LEFT\nSET s 1\nLMOVE m s LEFT LEFT\n"
        "LMOVE s m LEFT LEFT\nLMOVE none s LEFT LEFT\nRPOPLPUSH m n\nLRANGE n 0 -1\n"
        "RPOPLPUSH none n\nRPOPLPUSH m s\nRPOPLPUSH s m"),
    "lists that wait": many(
        "RPUSH l 1 2 3\nBLPOP l 1\nBRPOP none l 1\nBLPOP none 0.01\nBRPOP a b 0.01\n"
        "BLPOP l x\nBLPOP l -1\nBLPOP l\nSET s 1\nBLPOP s 1\nBLPOP none s l 1\n"
        "BLPOP l none 0\nBLPOP l 0.01\nMULTI\nBLPOP l 0\nBRPOP l 0\nRPUSH l 7\n"
        "BLPOP l 0\nBLMOVE l m LEFT RIGHT 0\nBRPOPLPUSH l m 0\nEXEC\nRPUSH l 1 2 3\n"
        "BLMOVE l m LEFT RIGHT 1\nBRPOPLPUSH l m 1\nBLMOVE l s LEFT LEFT 1\n"
        "BLMOVE none m LEFT LEFT 0.01\nBRPOPLPUSH none m 0.01\nBLMOVE l m LEFT UP 1\n"
        "BLMOVE l m LEFT LEFT -1\nBLMOVE l m LEFT LEFT x\nLRANGE m 0 -1"),
    "rename": many(
        "RENAME a b\nSET a 1 EX 100\nRENAME a b\nGET b\nTTL b\nEXISTS a\nRENAME b b\n"
        "RENAMENX b b\nRPUSH l 1\nRENAMENX b l\nRENAME b l\nTYPE l\nTTL l\n"
        "RENAMENX l m\nRENAMENX none m\nWATCH m\nRENAME m n\nMULTI\nPING\nEXEC\n"
        "WATCH q\nRENAME n q\nMULTI\nPING\nEXEC\nRENAME a\nTOUCH q none"),
    "keys": many(
        "KEYS *\nSET abc 1\nKEYS *\nKEYS a*\nKEYS a?c\nKEYS a[bx]c\nKEYS a[^b]c\n"
        "KEYS a[a-c]c\nKEYS a[c-a]c\nKEYS a[b\nKEYS a\\bc\nKEYS abcd\nKEYS abc*\n"
        "KEYS *c\nKEYS *b*\nKEYS **\nKEYS ?\nKEYS ab\nKEYS [a]bc\nKEYS a[\\b]c\nKEYS\n"
        "SCAN 0\nSCAN 0 MATCH x*\nSCAN 0 COUNT 0\nSCAN 0 COUNT x\nSCAN x\nSCAN 0 FOO\n"
        "SCAN 0 MATCH\nSCAN 0 TYPE string\nSCAN 0 TYPE list\nSCAN 0 TYPE none MATCH *\n"
        "SCAN 0 COUNT 100 MATCH a*\nSCAN"),
    "kill": many(
        "CLIENT KILL\nCLIENT KILL ID\nCLIENT KILL ID x\nCLIENT KILL ID 0\n"
        "CLIENT KILL TYPE foo\nCLIENT KILL TYPE pubsub\nCLIENT KILL TYPE replica\n"
        "CLIENT KILL TYPE master SKIPME no\nCLIENT KILL USER nobody\n"
        "CLIENT KILL ADDR 1.2.3.4:5\nCLIENT KILL LADDR 1.2.3.4:5\n"
        "CLIENT KILL SKIPME maybe TYPE normal\nCLIENT KILL FOO bar\n"
        "CLIENT KILL ID 999999 TYPE normal USER default SKIPME yes\n"
        "CLIENT KILL ADDR 1.2.3.4:5 LADDR 1.2.3.4:6\nCLIENT KILL 1.2.3.4:5\n"
        "CLIENT KILL TYPE normal SKIPME no\nPING"),
    "what is null": many(
        "GET a\nMGET a b\nLPOP a\nLPOP a 2\nLINDEX a 0\nCLIENT GETNAME\nRPUSH l 1\n"
        "LINDEX l 5\nWATCH l\nRPUSH l 2\nMULTI\nPING\nEXEC\nSET l x XX GET"),
    "config": many("CONFIG GET save\nCONFIG GET nosuch"),
    # the protocol itself
    "nothing": b"\r\n\r\n*0\r\n*-1\r\n*-10\r\n",
    "inline": b"PING\r\nping\nSET a 'b c'\r\nGET a\r\n   GET    a   \r\n",
    "inline quotes": b'SET a "x\\x41\\n\\t\\\\\\"y"\r\nGET a\r\n'
    b"ECHO 'it\\'s'\r\nECHO \"\"\r\nECHO '\\n'\r\nECHO a\"b\"\r\n"
    b'ECHO "\\xzz\\q"\r\n',
    "inline unbalanced": b"ECHO 'a\r\nPING\r\n",
    "inline unbalanced double": b'ECHO "a\r\nPING\r\n',
    "inline closed badly": b'ECHO "a"b\r\nPING\r\n',
    "inline and not": b"PING\r\n" + req("PING") + b"PING\r\n",
    "inline too long": b"ECHO " + b"x" * (LINE - 5),
    "inline rather long": b"ECHO " + b"x" * 60000 + b"\r\n",
    "no multibulk length": b"*x\r\n",
    "empty multibulk length": b"*\r\n",
    "plus": b"*+1\r\n",
    "space": b"* 1\r\n",
    "zeros": b"*01\r\n",
    "huge multibulk length": b"*9999999999\r\n",
    "longer multibulk length": b"*99999999999999999999999999\r\n",
    "multibulk length without end": b"*" + b"1" * (LINE - 1),
    "no dollar": b"*1\r\n:4\r\nPING\r\n",
    "no dollar but an end": b"*1\r\n\r\nPING\r\n",
    "bulk length of letters": b"*1\r\n$x\r\nPING\r\n",
    "bulk length below zero": b"*1\r\n$-1\r\n",
    "bulk too long": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870913\r\n",
    "bulk length without end": b"*1\r\n$" + b"1" * (LINE - 1),
    "after an error": b"*1\r\n$x\r\n" + req("PING") * 3,
    "before an error": req("SET", "a", 1) + req("GET", "a") + b"*x\r\n",
    "wrong end of a bulk": b"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n",
    "zero byte": req("SET", b"a\0b", b"\0") + req("GET", b"a\0b"),
}


def answers(s, data, step):
    """Return all bytes that the server sends for these bytes."""
    got = b""
    try:
        for i in range(0, len(data), step):
            s.sendall(data[i:i + step])
        if b"\n" in data[-LINE:]:
            s.sendall(req("PING", MARK[1:-2]))
    except OSError:
        pass
    end = b"$%d\r\n" % (len(MARK) - 3) + MARK[1:]
    try:
        while not got.endswith(end):
            more = s.recv(1 << 20)
            if not more:
                return got + b"(closed)"
            got += more
    except ConnectionResetError:
        return got + b"(closed)"
    except socket.timeout:
        return got + b"(nothing more)"
    return got[:-len(end)]


def hello3(s):
    """Switch to RESP3 and return the fields of the answer; their values may differ."""
    s.sendall(req("HELLO", 3))
    got = b""
    while not got.endswith(b"modules\r\n*0\r\n"):
        more = s.recv(4096)
        assert more, got
        got += more
    assert got.startswith(b"%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n"), got
    assert b"$5\r\nproto\r\n:3\r\n" in got, got


def ask(port, data, step, resp3):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers(s, req("FLUSHALL"), 1 << 20)
    with socket.create_connection(("127.0.0.1", port), timeout=3) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if resp3:
            hello3(s)
        return answers(s, data, step)


def short(b):
    return repr(b if len(b) <= 600 else b[:300] + b" ... " + b[-300:])


def main():
    ports = [int(p) for p in sys.argv[1:3]]
    differ = 0
    for name, data in CASES.items():
        for step, resp3 in ((1 << 20, False), (1, False), (1 << 20, True)):
            if step == 1 and len(data) > 3000:
                continue
            first, second = (ask(p, data, step, resp3) for p in ports)
            if first == second:
                continue
            differ += 1
            print("%s%s\n  %s\n  %s" % (
                name, " (by the byte)" if step == 1 else " (RESP3)" if resp3
                else "", short(first),
                short(second)))
    print("%d cases, %d differ" % (len(CASES), differ))
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
