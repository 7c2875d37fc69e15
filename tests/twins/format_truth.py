#!/usr/bin/env python3
"""
format_truth.py - print the ages that innet-aom must find in a table of times

	format_truth.py TABLE sent|first [CSV]

The program computes the ages for the times in TABLE with the oracle (oracle.py,
written from innet-olaf(7)), and prints them as
cluster,received,mean_age_ns,p95_age_ns,max_age_ns.  With CSV, the
output of innet-aom --csv, it compares the two and prints the differences.
"""
import csv
import sys

import oracle

KEYS = ("received", "mean_age_ns", "p95_age_ns", "max_age_ns")


class Update:
    def __init__(self, cluster, generated):
        self.cluster, self.generated = cluster, generated


def figures(table, how):
    rows = list(csv.DictReader(open(table)))
    sent = [(int(r["generated_ns"]), Update(int(r["cluster"]),
                                            int(r["generated_ns"])))
            for r in rows]
    came = [(int(r["received_ns"]), Update(int(r["cluster"]),
                                           int(r["generated_ns"])))
            for r in rows if r["received_ns"]]
    came.sort(key=lambda d: d[0])
    sent.sort(key=lambda d: d[0])
    for c, a in sorted(oracle.all_ages(came, sent, None, how).items()):
        a["received"] = sum(u.cluster == c for _, u in came)
        yield [str(c)] + [str(a[k]) for k in KEYS]


def main():
    want = list(figures(sys.argv[1], sys.argv[2]))
    if len(sys.argv) == 3:
        for row in want:
            print(",".join(row))
        return
    got = [[r["cluster"]] + [r[k] for k in KEYS]
           for r in csv.DictReader(open(sys.argv[3]))
           if r["cluster"] != "all"]
    for w, g in zip(want, got):
        if w != g:
            print("want %s, got %s" % (w, g))
    if len(want) != len(got):
        print("want %d clusters, got %d" % (len(want), len(got)))
    sys.exit(want != got)


main()
