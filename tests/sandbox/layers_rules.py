# SPDX-License-Identifier: Apache-2.0
"""The rules of the filters of hands, taken away one by one: an answer of the kernel must change.
With them those that hands shares with the daemons of brain.

Rules about different calls do not touch each other: the first rule of each call goes in one
program, the second of each in the next, and so on. The unit tests of the filters ask the kernel
about every call under each filter; a rule is seen when a line of its call is another one."""
import os
import re
import shutil
import subprocess

ASKERS = (      # unit test, its test of the answers, what it writes, the sources that it has
    ("tests/unit/test_filters.c", "filter_answers_of_each_are_golden",
     "tests/sandbox/golden/calls-hands.tsv", ("common/", "hands/")),
    ("tests/unit/test_brain_filters.c", "brain_filter_answers_are_golden",
     "tests/sandbox/golden/calls-brain.tsv", ("common/",)))
SOURCES = {"common/confine/base.c": "common/confine/base.c",
           "hands/confine/profiles.def": "hands/confine/filters.c"}
MACRO = re.compile(r"\b(?:DENY|NO_FAMILY|OTHERS|NO_IOCTL|ATS_SECCOMP_(?:CALL|IF|NR)|FRONT|"
                   r"HELPER(?:_KILL)?|NO_SXID(?:_OPEN)?|"
                   r"(?:TOOLS|SHELL|COMMAND|BARE|NONET|HOSTS|OWN|SAMEUID|DIALER)(?:_NR)?(?:_IF|_GONE)?)\(")
GRANTS = re.compile(r"\b(?:FILES(?:_IF|_SOFT)?|WRITES)\(")
NO_RULE = re.compile(r"/\*.*?\*/|^#(?:[^\n]*\\\n)*[^\n]*$", re.S | re.M)


class Rule:
    def __init__(self, file, begin, end, text):
        self.file, self.begin, self.end, self.text = file, begin, end, text
        word = re.search(r'"(\w+)"', text)
        number = re.search(r"_NR(?:_IF)?\((?:NO, )?(\d+)", text)
        self.call = word.group(1) if word else number.group(1) if number else \
            "socket" if text.startswith("NO_FAMILY") else "ioctl"
        said = re.search(r"/\* (\w+) \*/", text)
        self.also = said.group(1) if said else self.call    # a number's name, in the answers

    def family(self):
        """Whose table it is in."""
        return self.text.split("(", 1)[0].split("_", 1)[0]

    def harmless(self):
        """In its place where the table would be empty: about a call that no kernel has."""
        return self.text.replace('"%s"' % self.call, '"vserver"')

    def __str__(self):
        return "%s: %s" % (self.file, " ".join(self.text.rstrip(",").split()))


def _blank(match):
    return " " * len(match.group(0))


def read(top, file):
    """(text, rules) of a source; comments and definitions hold none."""
    with open(os.path.join(top, file), encoding="utf-8") as f:
        text = f.read()
    plain = re.sub(r"/\*.*?\*/", _blank, text, flags=re.S)
    plain = re.sub(r"^#(?:.*\\\n)*.*$", _blank, plain, flags=re.M)
    out, at = [], 0
    for m in MACRO.finditer(plain):
        if m.start() < at:
            continue        # inside of another
        depth, at = 1, m.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(plain[at], 0)
            at += 1
        at += plain[at] == ","
        out.append(Rule(file, m.start(), at, text[m.start():at]))
    return text, out


def unknown(top):
    """Kinds of rules in the profiles that nobody here takes away."""
    with open(os.path.join(top, "hands/confine/profiles.def"), encoding="utf-8") as f:
        plain = NO_RULE.sub("", f.read())
    return sorted({m + "(" for m in re.findall(r"(?m)^([A-Z_]+)\(", plain)
                   if not MACRO.match(m + "(") and not GRANTS.match(m + "(")})


def rounds(top):
    """[[rule]]: no two of a round are about the same call."""
    out, seen = [], {}
    for file in SOURCES:
        for rule in read(top, file)[1]:
            n = seen.get(rule.call, 0)
            seen[rule.call] = n + 1
            if n == len(out):
                out.append([])
            out[n].append(rule)
    return out


def without(top, rules):
    """{file: (object, text)}"""
    out = {}
    for file, source in SOURCES.items():
        mine = [r for r in rules if r.file == file]
        if mine:
            text, every = read(top, file)
            for r in sorted(mine, key=lambda r: -r.begin):
                alone = sum(x.family() == r.family() for x in every) == 1
                text = text[:r.begin] + (r.harmless() if alone else "") + text[r.end:]
            out[file] = (source, text)
    return out


def answers(program, test, golden, work):
    """{label: line}: the table as this program would write it."""
    os.makedirs(os.path.join(work, os.path.dirname(golden)), exist_ok=True)
    r = subprocess.run([program], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env={**os.environ, "ATS_UPDATE_GOLDEN": "1", "ATS_ONLY": test},
                       check=False, universal_newlines=True, timeout=120)
    try:
        with open(os.path.join(work, golden), encoding="utf-8") as f:
            return {(golden, k): v for k, v in (x.rstrip("\n").split("\t", 1) for x in f)}
    except FileNotFoundError:
        return {(golden, "none"): r.stdout[-500:]}


def missed(rules, before, after):
    """Those of which no line tells."""
    changed = {w for key in set(before) | set(after) if before.get(key) != after.get(key)
               for w in key[1].split()[:2]}
    return [r for r in rules if not {r.call, r.also} & changed]


def try_round(runner, rules, before):
    """The answers without these rules when before is None, else the rules that nothing tells."""
    work = runner.folder()
    try:
        files, after = without(runner.top, rules), {}
        for asker, test, golden, has in ASKERS:
            mine = {f: v for f, v in files.items() if f.startswith(has)}
            after.update(answers(runner.unit(mine, asker, work), test, golden, work))
        if before is None:
            return after
        return [(r, "no answer is another") for r in missed(rules, before, after)]
    finally:
        shutil.rmtree(work)
