# SPDX-License-Identifier: Apache-2.0
"""The rules of the filters of hands, taken away one by one: an answer of the kernel must change.

Rules about different calls do not touch each other: the first rule of each call goes in one
program, the second of each in the next, and so on. tests/unit/test_filters.c asks the kernel
about every call under each filter; a rule is seen when a line of its call is another one."""
import os
import re
import shutil
import subprocess

TEST = "tests/unit/test_filters.c"
ANSWERS = "filter_answers_of_each_are_golden"
GOLDEN = "tests/sandbox/golden/calls-hands.tsv"
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
            text = read(top, file)[0]
            for r in sorted(mine, key=lambda r: -r.begin):
                text = text[:r.begin] + text[r.end:]
            out[file] = (source, text)
    return out


def answers(program, work):
    """{label: line}: the table as this program would write it."""
    os.makedirs(os.path.join(work, os.path.dirname(GOLDEN)))
    r = subprocess.run([program], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env={**os.environ, "ATS_UPDATE_GOLDEN": "1", "ATS_ONLY": ANSWERS},
                       check=False, universal_newlines=True, timeout=120)
    try:
        with open(os.path.join(work, GOLDEN), encoding="utf-8") as f:
            return dict(x.rstrip("\n").split("\t", 1) for x in f)
    except FileNotFoundError:
        return {"none": r.stdout[-500:]}


def missed(rules, before, after):
    """Those of which no line tells."""
    changed = {w for label in set(before) | set(after) if before.get(label) != after.get(label)
               for w in label.split()[:2]}
    return [r for r in rules if not {r.call, r.also} & changed]


def try_round(runner, rules, before):
    """The answers without these rules when before is None, else the rules that nothing tells."""
    work = runner.folder()
    try:
        program = runner.unit(without(runner.top, rules), TEST, work)
        after = answers(program, work)
        if before is None:
            return after
        return [(r, "no answer is another") for r in missed(rules, before, after)]
    finally:
        shutil.rmtree(work)
