# SPDX-License-Identifier: Apache-2.0
"""Reads differences.tsv."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

VERDICTS = ("same", "better", "by design")


class Table:
    """differences.tsv: tool, what differs, in which queries, in which files; verdict, why."""

    def __init__(self):
        self.rows = []
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "differences.tsv")
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith("#") or not line.strip():
                    continue
                tool, what, query, kind, verdict, why = line.rstrip("\n").split("\t")
                ats.check(verdict in VERDICTS and len(why) > 10, line)
                self.rows.append([re.compile(tool), what, re.compile(query), re.compile(kind), 0])

    def explains(self, tool, what, query, path):
        """Whether a row says why the tools differ there; it is counted."""
        for row in self.rows:
            if row[0].fullmatch(tool) and row[1] == what and row[2].search(query) and \
                    row[3].search(path):
                row[4] += 1
                return True
        return False
