# SPDX-License-Identifier: Apache-2.0
"""What the vault says of gateways to an engine (tests/lib/engine.py), and a gateway's end of its
link.

    g = gateways.Gateway(e, "git", {"push": {}, "log": {"read_only": True}})
    id, args = g.asked("push")         the next GATEWAY_ASK
    g.waits(id, APPROVAL)              a person is asked
    g.started(id)
    g.result(id, "text")
"""
import json
import socket

import ats

WAITS, STARTED, REFUSED = 1, 2, 3
READ_ONLY, HIDDEN = 1, 8
CODES = {ats.def_string(a[2]): int(a[1]) for _, a in ats.def_rows("proto/errors.def")}
APPROVAL = "a-0123456789ab"
SCHEMA = {"type": "object", "properties": {"x": {}}, "required": ["x"]}


class Gateway:
    def __init__(self, e, name, tools, link=True):
        """tools: name to {"read_only", "json": an object or a text}."""
        self.e, self.name, self.tools = e, name, tools
        self.generation = 0
        self.link = None
        self.tell()
        if link:
            self.connect()
        e.heard()       # before what a client says

    def tell(self, code="", text=""):
        """All tools, as the vault tells them."""
        for tool, t in self.tools.items():
            j = t.get("json", {"description": "does " + tool, "inputSchema": SCHEMA})
            self.e.tell("GATEWAY_TOOL", self.name, tool, j if isinstance(j, str) else json.dumps(j),
                        (READ_ONLY if t.get("read_only") else 0) |
                        (HIDDEN if t.get("hidden") else 0))
        self.e.tell("GATEWAY_TOOLS", self.name, len(self.tools), CODES[code] if code else 0, text)

    def connect(self, again=False):
        """A new process of it; again: only another engine."""
        ours, theirs = socket.socketpair()
        if not again:
            self.generation += 1
        self.e.tell("GATEWAY_LINK", self.name, self.generation, fds=[theirs.fileno()])
        theirs.close()
        self.link = ats.Link(ours)
        self.e.home.open_things.append(self.link)
        return self.link

    def asked(self, tool, session=None):
        """(call id, arguments, time limit) of the next GATEWAY_ASK, which is for that tool."""
        call, limit, asker, name, args = self.e.expect("GATEWAY_ASK")
        ats.equal(name, "%s__%s" % (self.name, tool))
        if session:
            ats.equal(asker, session)
        return call, json.loads(args), limit

    def waits(self, call, approval=APPROVAL):
        self.e.tell("GATEWAY_STATE", call, WAITS, 0, "", approval)

    def started(self, call):
        self.e.tell("GATEWAY_STATE", call, STARTED, 0, "", "")

    def refused(self, call, code="denied", text="refused by a person; this is final"):
        self.e.tell("GATEWAY_STATE", call, REFUSED, CODES[code], text, "")

    def result(self, call, text="", **members):
        obj = {"outcome": "done"}
        obj.update(members)
        self.link.send("result", call, obj, text if isinstance(text, bytes) else text.encode())

    def acked(self, call):
        self.link.expect("control.ack", call=call)

    def gone(self):
        """The link's end, seen here."""
        ats.equal(self.link.recv(), None)
