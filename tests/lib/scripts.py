# SPDX-License-Identifier: Apache-2.0
"""A provider for tests: scripts that start and end an ats-hands of this machine, and say in a
log what they were asked."""
import contextlib
import json
import os
import re
import signal

import ats

BUILD = """#!/bin/sh
read -r line
echo "build $line" >> {dir}/log
n=$(($(cat {dir}/count) + 1)); echo $n > {dir}/count
{hands} --listen unix:{dir}/$n.sock --workspace {ws} < /dev/null >> {dir}/hands.log 2>&1 &
echo $! > {dir}/$n.pid
until [ -S {dir}/$n.sock ]; do sleep 0.02; done
echo '{{"version":1,"id":"box-'$n'","url":"unix:{dir}/'$n'.sock"}}'
"""
PROBE = """#!/bin/sh
read -r line
echo "probe $line" >> {dir}/log
n=${{line##*box-}}; n=${{n%%\\"*}}
read -r pid < {dir}/$n.pid
if read -r _ _ state _ 2> /dev/null < /proc/$pid/stat && [ $state != Z ]; then a=true; else a=false; fi
echo '{{"version":1,"alive":'$a'}}'
"""
DESTROY = """#!/bin/sh
read -r line
n=${{line##*box-}}; n=${{n%%\\"*}}
read -r pid < {dir}/$n.pid
kill $pid 2> /dev/null
echo "destroy $line" >> {dir}/log
"""


SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/schema/provider.json")


def check_schema(value, what, where=""):
    """Of JSON Schema, what that file uses."""
    with open(SCHEMA, encoding="utf-8") as f:
        defs = json.load(f)["$defs"]
    rule = defs[what] if isinstance(what, str) else what
    if "$ref" in rule:
        check_schema(value, rule["$ref"].split("/")[-1], where)
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    if "type" in rule:
        ats.check(isinstance(value, kinds[rule["type"]]), "%s: no %s" % (where, rule["type"]))
    if "const" in rule:
        ats.equal(value, rule["const"], where)
    if isinstance(value, str):
        ats.check(rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", 1 << 20), where)
        ats.check(re.search(rule.get("pattern", ""), value), "%s: %r" % (where, value))
    if isinstance(value, dict):
        ats.equal(sorted(set(rule["required"]) - set(value)), [], where + ": missing")
        ats.equal(sorted(set(value) - set(rule["properties"])), [], where + ": unknown")
        for k, v in value.items():
            check_schema(v, rule["properties"][k], where + "." + k)
    for v in value if isinstance(value, list) else ():
        check_schema(v, rule["items"], where + "[]")


def schema_examples(what):
    with open(SCHEMA, encoding="utf-8") as f:
        return json.load(f)["$defs"][what]["examples"]


class Scripts:
    """dir: where they and their sockets are. probe and destroy: texts of other scripts, or None
    for none. more: of the sandbox section."""

    def __init__(self, home, build=BUILD, probe=PROBE, destroy=DESTROY, conf=None, **more):
        self.home = home
        self.dir = os.path.join(home.run, "boxes")
        os.mkdir(self.dir)
        for name, text in (("count", "0\n"), ("log", "")):
            self.write(name, text)
        commands = {}
        for name, text in (("build", build), ("probe", probe), ("destroy", destroy)):
            if text is not None:
                path = self.write(name, text.format(
                    dir=self.dir, ws=home.ws, hands=ats.program("ats-hands")))
                commands["own." + name] = ["/bin/sh", path]
        home.configure({"sandbox": {"url": "script:own", "script_dir": self.dir, **more},
                        "commands": commands, **(conf or {})})
        home.open_things.append(self)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def asked(self, step):
        """What the runs of a step were told, one object each."""
        with open(os.path.join(self.dir, "log"), encoding="utf-8") as f:
            told = [json.loads(line.split(" ", 1)[1]) for line in f
                    if line.endswith("\n") and line.startswith(step + " ")]
        for line in told:
            check_schema(line, "build" if step == "build" else "one", step)
        return told

    def pid(self, n):
        with open(os.path.join(self.dir, "%d.pid" % n), encoding="utf-8") as f:
            return int(f.read())

    def kill(self, n):
        """The hands of box n dies, with all of its processes."""
        below = ats.descendants(self.pid(n)) | {self.pid(n)}
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        ats.wait_gone(below)

    def lives(self, n):
        try:
            with open("/proc/%d/stat" % self.pid(n), encoding="utf-8") as f:
                return f.read().rsplit(") ", 1)[1][0] not in "ZX"
        except OSError:
            return False

    def close(self):
        n = 1
        while os.path.exists(os.path.join(self.dir, "%d.pid" % n)):
            if self.lives(n):
                self.kill(n)
            n += 1
