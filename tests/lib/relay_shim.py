# SPDX-License-Identifier: Apache-2.0
"""The other side of a relay directory: publishes requests, waits for answers."""
import itertools
import json
import os
import re
import signal
import subprocess

import ats


def id_of(call_id):
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:120] or "tool"


class Shim:
    def __init__(self, directory):
        self.dir = directory
        self.numbers = itertools.count(1)

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, data):
        """A file, whole."""
        temp = self.path("%s.tmp.%s" % (name, os.urandom(4).hex()))
        with open(temp, "wb") as f:
            f.write(data)
        os.rename(temp, self.path(name))

    def ask(self, tool, args=None, id=None, **more):
        """A request; returns the id of its file."""
        id = id or "call-%d" % next(self.numbers)
        request = {"toolName": tool, "toolCallId": id, "args": {} if args is None else args, **more}
        self.put(id_of(id) + ".req.json", json.dumps(request, separators=(",", ":")).encode())
        return id_of(id)

    def answer(self, id, timeout=ats.TIMEOUT):
        """The answer, removed."""
        path = self.path(id + ".res.json")
        ats.until(lambda: os.path.exists(path), "answer to " + id, timeout)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        os.unlink(path)
        return json.loads(text)

    def call(self, tool, args=None, timeout=ats.TIMEOUT, **kw):
        return self.answer(self.ask(tool, args, **kw), timeout)

    def names(self):
        return sorted(os.listdir(self.dir))


class Server:
    """atsctl relay over a directory of its own in the workspace."""

    def __init__(self, home, *args, name="relay", make=True):
        self.dir = os.path.join(home.ws, name)
        if make:
            os.makedirs(self.dir, exist_ok=True)
        self.process = home.popen(ats.program("atsctl"), "--no-start", "relay", self.dir, *args,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.shim = Shim(self.dir)

    def ready(self):
        line = self.process.stdout.readline()
        if line != b"READY\n":
            raise ats.Failure("%r, %r" % (line, self.process.stderr.read()))
        return self

    def end(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=ats.TIMEOUT)
        ats.equal((self.process.returncode, out), (code, b""), err)
        return err.decode()
