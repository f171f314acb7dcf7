# SPDX-License-Identifier: Apache-2.0
"""A small MCP server on stdio, for gateways of kind mcp in tests of the whole: what its tools are,
and what they answer, is the test's. mcp_upstream.py is the one that misbehaves."""
import json
import os
import sys
import textwrap

SCRIPT = """\
#!%s
import json, os, sys
TOOLS = json.loads(%r)
def call(name, args):
%s
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": TOOLS}
    else:
        r = {"content": [{"type": "text", "text": call(m["params"]["name"],
                                                       m["params"]["arguments"])}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def tool(name, properties, reads=False, required=()):
    return {"name": name, "description": name, "annotations": {"readOnlyHint": reads},
            "inputSchema": {"type": "object", "properties": properties,
                            "required": list(required)}}


def write(home, name, tools, call):
    """The path of the program. call is the body of a function of name and args (a dict) that
    returns the text of the answer; json, os and sys are there."""
    path = os.path.join(home.dir, name)
    with open(path, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o755)
        f.write(SCRIPT % (sys.executable, json.dumps(tools),
                          textwrap.indent(textwrap.dedent(call), "    ")))
    return path
