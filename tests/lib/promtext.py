# SPDX-License-Identifier: Apache-2.0
"""A strict reader of the text format 0.0.4 of Prometheus: what a scraper would merely overlook is
an error here.

    m = promtext.read(text)
    m["ats_calls_total"].value(tool="Read", outcome="ok")
"""
import re

from ats_base import Failure

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\+Inf)\Z")
TYPES = ("counter", "gauge", "histogram")


class Family:
    def __init__(self, name, doc):
        self.name, self.doc, self.type = name, doc, None
        self.series = {}		# (suffix, ((label, value), ...)) -> number

    def value(self, suffix="", **labels):
        key = (suffix, tuple(sorted(labels.items())))
        if key not in self.series:
            raise Failure("%s has no series %r" % (self.name, key))
        return self.series[key]

    def labels(self, name):
        """The values of one label."""
        return {dict(at)[name] for _, at in self.series if name in dict(at)}


def bad(line, why):
    raise Failure("metrics: %s: %r" % (why, line))


def read_labels(line, text):
    found, at = {}, 0
    while True:
        m = LABEL.match(text, at)
        if m is None:
            bad(line, "no label at %d" % at)
        if m.group(1) in found:
            bad(line, "label %s twice" % m.group(1))
        found[m.group(1)] = m.group(2)
        at = m.end()
        if at == len(text):
            return found
        if text[at] != ",":
            bad(line, "no comma between labels")
        at += 1


def read_sample(line):
    """(name, labels, number)"""
    m = re.match(r"([^{ ]+)(?:\{(.*)\})? ([^ ]+)\Z", line)
    if m is None or not NAME.match(m.group(1)) or not NUMBER.match(m.group(3)):
        bad(line, "no sample")
    labels = read_labels(line, m.group(2)) if m.group(2) is not None else {}
    return m.group(1), labels, float(m.group(3))


def suffix_of(line, family, name):
    for suffix in ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",):
        if name == family.name + suffix:
            return suffix
    return bad(line, "a sample of another metric than %s" % family.name)


def check_histogram(f):
    """Buckets rise to +Inf, which is the count; a sum is there."""
    groups = {}
    for (suffix, at), n in f.series.items():
        at = dict(at)
        le = at.pop("le", None)
        if (le is not None) != (suffix == "_bucket"):
            raise Failure("%s%s: le %r" % (f.name, suffix, le))
        groups.setdefault(tuple(sorted(at.items())), {})[(suffix, le)] = n
    for at, g in groups.items():
        buckets = sorted((float(le), n) for (suffix, le), n in g.items() if suffix == "_bucket")
        counts = [n for _, n in buckets]
        if not buckets or buckets[-1][0] != float("inf") or counts != sorted(counts):
            raise Failure("%s %r: buckets %r" % (f.name, at, buckets))
        if g.get(("_count", None)) != counts[-1] or ("_sum", None) not in g:
            raise Failure("%s %r: count %r" % (f.name, at, g))


def read(text):
    """All families by name."""
    families, current = {}, None
    if not text.endswith("\n"):
        raise Failure("metrics: no line feed at the end")
    for line in text[:-1].split("\n"):
        if not all(" " <= c <= "~" for c in line):
            bad(line, "other bytes than ASCII")
        if line.startswith("# HELP "):
            name, _, doc = line[7:].partition(" ")
            if not NAME.match(name) or not doc or "\\" in doc:
                bad(line, "HELP")
            if name in families:
                bad(line, "a metric twice")
            current = families[name] = Family(name, doc)
        elif line.startswith("# TYPE "):
            name, _, kind = line[7:].partition(" ")
            if current is None or name != current.name or current.type or kind not in TYPES:
                bad(line, "TYPE")
            current.type = kind
        elif line.startswith("#") or not line:
            bad(line, "a line that says nothing")
        else:
            name, labels, number = read_sample(line)
            if current is None or current.type is None:
                bad(line, "a sample before its TYPE")
            key = (suffix_of(line, current, name), tuple(sorted(labels.items())))
            if key in current.series:
                bad(line, "a series twice")
            current.series[key] = number
    for f in families.values():
        if f.type is None:
            raise Failure("%s has no TYPE" % f.name)
        if f.type == "histogram":
            check_histogram(f)
    return families
