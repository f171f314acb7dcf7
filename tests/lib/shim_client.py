# SPDX-License-Identifier: Apache-2.0
"""An MCP client inside the sandbox, for a file of the workspace: prints the tools that the shim of
mcp.json has, or with TOOL JSON... the answer to each call, a line each."""

CLIENT = """
import json, os, subprocess, sys
conf = json.load(open(os.environ["ATS_MCP_CONFIG"]))["mcpServers"]["ats-tools"]
p = subprocess.Popen([conf["command"], *conf["args"]], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, env={**os.environ, **conf.get("env", {})})
def ask(id, method, params):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method,
                              "params": params}).encode() + b"\\n")
    p.stdin.flush()
    while True:
        m = json.loads(p.stdout.readline())
        if m.get("id") == id:
            return m
ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                      "clientInfo": {"name": "t", "version": "1"}})
tools = ask("two", "tools/list", {})["result"]["tools"]
if len(sys.argv) < 2:
    print(json.dumps(tools))
for i in range(1, len(sys.argv), 2):
    print(json.dumps(ask(i, "tools/call", {"name": sys.argv[i],
                                           "arguments": json.loads(sys.argv[i + 1])})), flush=True)
p.stdin.close()
sys.exit(p.wait())
"""
