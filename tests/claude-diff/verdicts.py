# SPDX-License-Identifier: Apache-2.0
"""The differences that are known, with their verdicts (expected/*.txt), and what is printed.

A block of such a file:

    == read.bom : 1.0.72 2.0.20
    better: a BOM is no part of the first line
    Read 1 native: 1\\t\\ufeffone
    Read 1 ours: 1\\tone

The verdict is "better" (than the native tool) or "by design". The lines are what both sides
said, in short: a difference that is another one is not expected.
"""
import glob
import hashlib
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
VERDICTS = ("better", "by design")
LONG = 240


def short(text):
    """One printable line; of a long text its ends, length and hash."""
    shown = "".join(c if c.isprintable() else
                    {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c, ascii(c)[1:-1]) for c in text)
    if shown != shown.strip():
        left, right = len(shown) - len(shown.lstrip()), len(shown.rstrip())
        shown = "\\x20" * left + shown[left:right] + "\\x20" * (len(shown) - right)
    if len(shown) <= LONG:
        return shown
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "%s ...[%d, %s]... %s" % (shown[:120].rstrip(), len(text), mark, shown[-60:].lstrip())


class Block:
    def __init__(self, where, id, versions):
        self.where, self.id, self.versions = where, id, versions
        self.verdict = self.why = None
        self.lines, self.seen = [], set()


def load():
    """(case id, version) -> Block. A file that is not written as above is an error."""
    out = {}
    for path in sorted(glob.glob(os.path.join(HERE, "expected", "*.txt"))):
        block = None
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                line = line.rstrip("\n")
                where = "%s:%d" % (os.path.basename(path), n)
                if not line or line.startswith("#"):
                    continue
                if line.startswith("== "):
                    id, versions = line[3:].split(" : ")
                    block = Block(where, id, versions.split())
                    for v in block.versions:
                        if (id, v) in out:
                            raise SystemExit("%s: %s %s a second time" % (where, id, v))
                        out[id, v] = block
                elif block.verdict is None:
                    block.verdict, _, block.why = line.partition(": ")
                    if block.verdict not in VERDICTS or not block.why:
                        raise SystemExit("%s: no verdict, or no reason" % where)
                else:
                    block.lines.append(line)
    return out


def lines_of(differences):
    out = []
    for label, native, ours in differences:
        out += ["%s native: %s" % (label, short(native)), "%s ours: %s" % (label, short(ours))]
    return [re.sub(r"\s+$", "", line) for line in out]


class Output:
    def __init__(self, args, expected):
        self.args, self.expected = args, expected
        self.number = self.failed = 0
        self.proposals, self.rows = {}, []
        self.counts = {}

    def tap(self, text):
        if not self.args.table and not self.args.propose:
            print(text, flush=True)

    def line(self, verdict, version, case, why="", detail=()):
        self.number += 1
        self.counts[verdict] = self.counts.get(verdict, 0) + 1
        self.rows.append((verdict, version, case.id, case.text, why, detail))
        if self.args.table and verdict not in ("same", "not there"):
            print("%-11s %-8s %-26s %s" % (verdict, version, case.id, why), flush=True)

    def skip(self, version, why):
        self.number += 1
        self.counts["skipped"] = self.counts.get("skipped", 0) + 1
        self.tap("ok %d - %s # SKIP %s" % (self.number, version, why))
        if self.args.table:
            print("%-11s %-8s %s" % ("skipped", version, why), flush=True)

    def judge(self, version, case, differences):
        block = self.expected.get((case.id, version))
        if differences is None:
            self.line("not there", version, case)
            self.tap("ok %d - %s %s # SKIP this version or machine has no such tool" % (
                self.number, version, case.id))
            return
        got = lines_of(differences)
        if not got and not block:
            self.line("same", version, case)
            self.tap("ok %d - %s %s: same" % (self.number, version, case.id))
            return
        lost = any(ours.startswith("the server ") for _, _, ours in differences)
        if block and got == block.lines and not lost:
            self.line(block.verdict, version, case, block.why, got)
            self.tap("ok %d - %s %s: %s" % (self.number, version, case.id, block.verdict))
            return
        self.failed += 1
        why = "does not differ any more: " + block.where if not got else \
            "ours does not answer" if lost else \
            "differs in another way than in " + block.where if block else "is not explained"
        self.line("FAILED", version, case, why, got)
        self.tap("not ok %d - %s %s: %s" % (self.number, version, case.id, why))
        for line in got:
            self.tap("# " + line)
            if self.args.table:
                print("            " + line)
        if got:
            self.proposals.setdefault((case.id, tuple(got)), []).append((version, block))

    def fail(self, why):
        self.failed += 1
        print("# " + why)

    def end(self):
        self.number += 1
        self.tap("%s %d - nothing else" % ("ok" if not self.failed else "not ok", self.number))
        self.tap("1..%d" % self.number)
        if self.args.propose:
            for (id, got), found in self.proposals.items():
                old = next((b for _, b in found if b), None)
                print("== %s : %s" % (id, " ".join(v for v, _ in found)))
                print("%s: %s" % (old.verdict, old.why) if old else "?: ")
                print("\n".join(got) + "\n")
        if self.args.table:
            print(", ".join("%d %s" % (n, v) for v, n in sorted(self.counts.items())))
        if self.args.report:
            self.report()
        return 1 if self.failed else 0

    def report(self):
        def cell(text):
            return text.replace("|", "\\|").replace("<", "&lt;")
        with open(self.args.report, "w", encoding="utf-8") as f:
            f.write("# Claude Code's own tools and ATS\n\n%s\n\n| verdict | version | case | what "
                    "| why |\n|---|---|---|---|---|\n" % ", ".join(
                        "%d %s" % (n, v) for v, n in sorted(self.counts.items())))
            for verdict, version, id, text, why, _ in self.rows:
                if verdict != "not there":
                    f.write("| %s | %s | %s | %s | %s |\n" % (
                        verdict, version, id, cell(text), cell(why)))
            f.write("\n## What they said\n")
            for verdict, version, id, text, why, detail in self.rows:
                if detail:
                    f.write("\n%s %s (%s): %s\n\n```\n%s\n```\n" % (
                        version, id, verdict, why, "\n".join(detail)))
