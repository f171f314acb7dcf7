#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the door's methods are those that docs/gen/methods.md lists: each of them is
taken, with its type, the others are refused, and what is not optional is asked for."""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine

SAID = {"string": "a string", "number": "a number", "boolean": "true or false",
        "object": "an object", "array": "an array"}
FITS = {"string": "x", "number": 1, "boolean": True, "object": {}, "array": []}


def methods():
    """By name: {parameter: (type, whether it must be there)}."""
    with open(os.path.join(ats.TOP, "docs", "gen", "methods.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `(ats/[a-z.]+)` \| request \| (?:`([^`]*)` )?\|", f.read(), re.M)
    return {name: {k.rstrip("?"): (t, not k.endswith("?")) for k, t in (
        p.split(": ") for p in text.split(", ") if p)} for name, text in rows}


def names_in_code():
    """Of parameters of any method, so that one that the page lacks is missed there."""
    out = set()
    for path in glob.glob(os.path.join(ats.TOP, "brain", "engine", "*.c")):
        with open(path, encoding="utf-8") as f:
            out |= set(re.findall(r'\{ "([^"]+)", RPC_', f.read()))
    return out


def refusal(d, method, params):
    """Its text, or "" where the parameters were not what was wrong."""
    a = d.answer(d.send(method, params))
    e = a.get("error", {})
    return e["message"] if e.get("code") == -32602 else ""


@ats.test("each is taken with its type, each other one is refused, and those that must be there are")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d = e.door(s)
    table = methods()
    ats.check(len(table) > 20, table)
    every = {k for params in table.values() for k in params} | names_in_code()
    ats.check({"signal", "cols", "cursor"} <= every, every)
    for method, params in sorted(table.items()):
        for name in sorted(every):
            said = refusal(d, method, {name: None})
            if name in params:
                ats.equal(said, "%s: expected %s" % (name, SAID[params[name][0]]), method)
            else:
                ats.equal(said, 'unknown parameter "%s"' % name, method)
        needed = {k: FITS[t] for k, (t, must) in params.items() if must}
        ats.missing(refusal(d, method, needed), "missing")
        for name in needed:
            ats.equal(refusal(d, method, {k: v for k, v in needed.items() if k != name}),
                      "%s: missing" % name, method)


if __name__ == "__main__":
    ats.main()
