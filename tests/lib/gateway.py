# SPDX-License-Identifier: Apache-2.0
"""The real ats-gateway between a fake vault and a fake engine.

    with Gateway({"kind": "command", ...}) as g:    starts it, sends GW_SETUP, waits for GW_READY
        g.call("tool", {"a": 1})                    an order, and its result, which is acknowledged
"""
import array
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time

import ats

# Moves a descriptor to 3 and becomes the rest.
_AS_3 = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.closerange(4, 256)
os.execv(sys.argv[2], sys.argv[2:])
"""
INLINE = 48 << 10


class Result:
    def __init__(self, frame):
        self.json, self.payload = frame.json, frame.payload
        self.is_error = frame.json.get("is_error", False)
        self.code = frame.json.get("code", "")
        self.started = frame.json["outcome"] == "done"
        self.blocks = []
        at = 0
        for b in frame.json.get("blocks", [{"type": "text", "len": len(frame.payload)}]):
            self.blocks.append((b["type"], b.get("mime"), frame.payload[at:at + b["len"]]))
            at += b["len"]
        ats.equal(at, len(frame.payload), "the blocks' lengths")
        self.text = "\n".join(b[2].decode() for b in self.blocks if b[0] == "text")

    def __repr__(self):
        return "<%r %.3000r>" % (self.json, self.text)


class Gateway:
    def __init__(self, conf, credential=None, name="gw", ready=True, link=True, env=None):
        self.name = name
        self.log = tempfile.TemporaryFile()
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.status = 0             # how it is to end
        self.proc = subprocess.Popen(
            [sys.executable, "-c", _AS_3, str(theirs.fileno()), ats.program("ats-gateway"), name],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            pass_fds=(theirs.fileno(),), cwd="/", env={**ats.test_env(), **(env or {})})
        theirs.close()
        self.calls = 0
        self.tools, self.listed = [], None
        self.ended = {}
        self.is_ready = None
        self.refused = 0            # times that it said GW_UNAUTHORIZED
        self.renewals = []          # what is answered to these; then none, None: nothing
        self.progress = []
        self.setup(conf, credential)
        self.link = None
        try:
            if link:
                self.new_link()
            if ready:
                self.wait(lambda: self.is_ready is not None, "GW_READY")
                ats.equal(self.is_ready, [0, ""])
        except Exception:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *what):
        if what[0] is not None:
            print("# " + self.log_text()[-6000:].replace("\n", "\n# "))
        self.close()

    def close(self):
        if self.link is not None:
            self.link.close()
        self.sock.close()
        below = ats.descendants(self.proc.pid)
        try:
            self.proc.wait(ats.TIMEOUT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise ats.Failure("it did not end with its socket") from None
        left = ats.wait_gone(below, 10)
        said = self.log_text()
        self.log.close()
        ats.equal(self.proc.returncode, self.status, "its exit status\n" + said[-3000:])
        ats.equal(left, [], "processes that it left")

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    # ---- the vault's end ------------------------------------------------------------------------
    def send(self, name, *values, fds=()):
        data = ats.Vault.pack(name, 0, *values)
        self.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
                          if fds else [])

    def setup(self, conf, credential):
        text = json.dumps(conf)
        if credential is None:
            self.send("GW_SETUP", self.name, text)
            return
        self.send_secret(credential, "GW_SETUP", self.name, text)

    def send_secret(self, credential, name, *values):
        """A message with the credential."""
        r, w = os.pipe()
        os.write(w, credential if isinstance(credential, bytes) else credential.encode())
        os.close(w)
        self.send(name, *values, fds=(r,))
        os.close(r)

    def new_link(self):
        """Another link, as to a new engine; the one before ends."""
        if self.link is not None:
            self.link.close()
        ours, theirs = socket.socketpair()
        self.send("GW_LINK", fds=(theirs.fileno(),))
        theirs.close()
        self.link = ats.Link(ours)

    def order(self, tool, args=None, ms=20000, call=None, raw=None):
        """Sends GW_ORDER; returns the call's id."""
        self.calls += 1
        call = call or self.calls
        text = raw if raw is not None else json.dumps(args or {}, separators=(",", ":"))
        if len(text.encode()) <= INLINE:
            self.send("GW_ORDER", call, ms, tool, text)
            return call
        with tempfile.TemporaryFile() as f:
            f.write(text.encode())
            f.flush()
            self.send("GW_ORDER", call, ms, tool, "", fds=(f.fileno(),))
        return call

    def cancel(self, call):
        self.send("GW_CANCEL", call)

    def _take(self, data):
        name, _, values = ats.Vault.unpack(data)
        if name == "GW_READY":
            self.is_ready = values
        elif name == "GW_TOOL":
            self.tools.append((values[1], values[0], json.loads(values[2])))
        elif name == "GW_TOOLS":
            ats.equal(values[0], len(self.tools), "GW_TOOLS")
            self.listed, self.tools = self.tools, []
        elif name == "GW_UNAUTHORIZED":
            self.refused += 1
            value = self.renewals.pop(0) if self.renewals else ""
            if value:
                self.send_secret(value, "GW_CREDENTIAL")
            elif value is not None:
                self.send("GW_CREDENTIAL")
        elif name == "GW_ENDED":
            ats.check(values[0] not in self.ended, "GW_ENDED twice")
            self.ended[values[0]] = values[1]
        else:
            raise ats.Failure("a gateway says " + name)

    def wait(self, condition, what, timeout=ats.TIMEOUT):
        """Takes the gateway's messages until the condition holds."""
        end = time.monotonic() + timeout
        while not condition():
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                raise ats.Failure("no %s within %d s\n%s" % (what, timeout, self.log_text()))
            try:
                data = self.sock.recv(1 << 17)
            except ConnectionResetError:
                data = b""
            if not data:
                raise ats.Failure("it ended before %s\n%s" % (what, self.log_text()))
            self._take(data)

    def wait_end(self):
        """Its exit status; what it says before is taken."""
        with contextlib.suppress(ConnectionResetError):
            while True:
                ats.wait_readable(self.sock, ats.TIMEOUT)
                data = self.sock.recv(1 << 17)
                if not data:
                    break
                self._take(data)
        return self.proc.wait(ats.TIMEOUT)

    # ---- the engine's end -----------------------------------------------------------------------
    def result(self, call, ack=True, timeout=ats.TIMEOUT):
        """Waits for a call's RESULT; progress of all calls is collected."""
        end = time.monotonic() + timeout
        while True:
            while not self.link.buffer:
                ready = select.select([self.link.sock, self.sock], [], [],
                                      max(0, end - time.monotonic()))[0]
                if self.link.sock in ready or not ready:
                    break
                data = self.sock.recv(1 << 17)
                if not data:
                    break
                self._take(data)
            f = self.link.recv(end - time.monotonic())
            if f is None:
                raise ats.Failure("the link ended\n" + self.log_text())
            if f.name == "event.progress":
                self.progress.append((f.call, f.json))
                continue
            ats.equal(f.name, "result")
            if f.call == call:
                break
            raise ats.Failure("a result of %d, wanted %d" % (f.call, call))
        if ack:
            self.link.send("control.ack", call)
        return Result(f)

    def call(self, tool, args=None, ms=20000, timeout=ats.TIMEOUT, raw=None):
        call = self.order(tool, args, ms, raw=raw)
        r = self.result(call, timeout=timeout)
        self.wait(lambda: call in self.ended, "GW_ENDED")
        ats.equal(self.ended[call] == 0, not r.is_error, "GW_ENDED's code")
        return r
