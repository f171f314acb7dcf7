#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How Claude Code is wired to us: by the lines of the documentation, in both eras of MCP, with
its hooks, our rules, and what it goes by when it lists and calls tools."""
import functools
import json
import os
import re
import subprocess

import cli
from cli import ALIASES, MCP, NATIVE, PREFIX, Cli, ats
from model import Model

SDK = "@anthropic-ai/claude-agent-sdk@0.3.332"


def plain(home, model, key):
    """The environment of a user who has both in the PATH."""
    bin_dir = os.path.join(home.dir, "bin")
    os.mkdir(bin_dir)
    os.symlink(cli.program()[-1], os.path.join(bin_dir, "claude"))
    path = "%s:%s:%s" % (bin_dir, ats.BUILD, home.env["PATH"])
    return {**home.env, "PATH": path, "ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def shows_where_it_is(home, model, name, tools):
    """The first thing that a newcomer asks for."""
    q = model.request()
    ats.equal(set(tools) - set(q.tools), set())
    q.use((name, {"command": "hostname; pwd; env"}))
    q = model.request()
    ats.matches(q.result().text, "^sandbox\n%s\n" % re.escape(home.ws))
    ats.missing(q.result().text, "canary")
    q.say("that is where")


@ats.test("the lines for a terminal in the documentation, and no other, do it")
def _(home):
    cli.program()
    text = cli.documentation().split("## In two minutes")[1].split("\n## ")[0]
    lines = re.sub(r" \\\n +", " ", text).split("\n")
    add = next(x.strip() for x in lines if x.startswith("    claude mcp add"))
    start = [x.strip() for x in lines if x.startswith("    claude --tools")]
    ats.equal(len(start), 2)
    model = Model("sk-ant-canary-terminal")
    home.open_things.append(model)
    env = plain(home, model, model.key)
    for line, before in ((start[1], ":"), (start[0], add)):
        p = home.popen("sh", "-c", "%s >&2 && exec %s -p go" % (before, line),
                       env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shows_where_it_is(home, model, PREFIX + "Bash", [PREFIX + n for n in NATIVE])
        out, err = p.communicate(timeout=60)
        ats.equal((p.returncode, out), (0, b"that is where\n"), err)


@functools.lru_cache(maxsize=1)
def sdk():
    """(folder of the Agent SDK without its copy of the CLI, or None; why not)"""
    r = subprocess.run([os.path.join(ats.TOP, "tests", "lib", "npm-install"), SDK],
                       stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
                       env={**os.environ, "npm_config_omit": "optional",
                            "ATS_NPM": os.path.join(ats.BUILD, "npm", "agent-sdk")})
    text = r.stdout.decode().strip()
    return (text, None) if r.returncode == 0 else (None, text)


@ats.test("the program of the documentation does it through the Agent SDK")
def _(home):
    cli.program()
    folder, why = sdk()
    if folder is None:
        ats.skip(why)
    code = cli.documentation().split("```js\n")[1].split("\n```")[0]
    # The copy of the CLI that the package brings is the one that we have.
    code = code.replace("  options: {\n", "  options: {\n    pathToClaudeCodeExecutable: %s,\n"
                        % json.dumps(cli.program()[-1]), 1)
    os.symlink(os.path.join(folder, "node_modules"), os.path.join(home.dir, "node_modules"))
    path = os.path.join(home.dir, "turn.mjs")
    with open(path, "w", encoding="utf-8") as f:
        f.write(code + "\n")
    model = Model("sk-ant-canary-sdk")
    home.open_things.append(model)
    p = home.popen("node", path, "go", env=plain(home, model, model.key),
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shows_where_it_is(home, model, "Bash", NATIVE)
    out, err = p.communicate(timeout=60)
    ats.equal((p.returncode, out), (0, b"that is where\n"), err)


@cli.test("a name whose target is not there fails; nothing runs on the host", ALIASES)
def _(home, wiring):
    c = Cli(home, wiring, "--disallowedTools", PREFIX + "Bash")
    q, r = c.use(c.model.request(), "Bash", command="echo x > made")
    ats.check(r.is_error, r.text)
    ats.contains(r.text, "No such tool")
    ats.check(not os.path.exists(os.path.join(home.ws, "made")), "it ran")
    q.say("done")
    c.turn_ends()


@cli.test("hooks of its settings see our calls, by the names that the documentation says")
def _(home, wiring):
    def hook(matcher, file):
        return {"matcher": matcher, "hooks": [
            {"type": "command", "command": "cat >> %s/%s; echo >> %s/%s" % (
                home.dir, file, home.dir, file)}]}
    settings = {"hooks": {"PreToolUse": [hook("Bash", "plain"), hook(PREFIX + "Bash", "ours")]}}
    c = Cli(home, wiring, "--settings", json.dumps(settings))
    q, r = c.use(c.model.request(), "Bash", command="echo hi")
    ats.equal(r.text, "hi")
    q.say("done")
    c.turn_ends()
    with open(os.path.join(home.dir, "ours"), encoding="utf-8") as f:
        told = json.loads(f.read())
    ats.equal((told["tool_name"], told["tool_input"]), (PREFIX + "Bash", {"command": "echo hi"}))
    ats.equal(os.path.exists(os.path.join(home.dir, "plain")), wiring == ALIASES)


@cli.test("hooks that a repository comes with run in the sandbox, and the model hears them")
def _(home, wiring):
    hook = {"type": "command", "command": "{ hostname; env; } > looked; grep -q forbidden && "
                                          "{ echo 'not that word' >&2; exit 2; }; exit 0"}
    home.write(".claude/settings.json", json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "Bash", command="echo forbidden > made")
    ats.check(r.is_error, r.text)
    ats.contains(r.text, "not that word")
    ats.check(not os.path.exists(os.path.join(home.ws, "made")), "it ran")
    ats.matches(home.read("looked").decode(), "^sandbox\n")
    ats.missing(home.read("looked").decode(), c.key)
    q, r = c.use(q, "Bash", command="echo fine")
    ats.equal((r.is_error, r.text), (False, "fine"))
    q.say("done")
    c.turn_ends()


@cli.test("rules about what is called are ours to keep: Claude Code's say nothing there")
def _(home, wiring):
    home.configure({"permissions": {"deny": ["Bash(shred:*)", "Edit(locked/**)"]}})
    home.write("f", "x\n")
    home.write("locked/f", "x\n")
    theirs = {"permissions": {"deny": ["Bash(rm *)"]}}
    c = Cli(home, wiring, "--settings", json.dumps(theirs))
    q, r = c.use(c.model.request(), "Bash", command="true; shred -u f")
    ats.check(r.is_error, r.text)
    ats.contains(r.text, "shred")
    ats.equal(home.read("f"), b"x\n")
    q, r = c.use(q, "Write", file_path=os.path.join(home.ws, "locked", "g"), content="x")
    ats.check(r.is_error, r.text)
    ats.check(not os.path.exists(os.path.join(home.ws, "locked", "g")), "it was written")
    q, r = c.use(q, "Bash", command="rm f; echo gone")
    ats.equal(r.text, "gone")       # once it is refused the documentation is wrong
    q.say("done")
    c.turn_ends()


@ats.test("where tools are looked for only the core of ours is there from the start")
def _(home):
    if cli.is_older():
        ats.skip("older versions do not ask the tools")
    c = Cli(home, MCP, tools="default", env={"ENABLE_TOOL_SEARCH": "true"})
    q = c.model.request()
    ats.contains(q.tools, "ToolSearch")
    ats.equal({n[len(PREFIX):] for n in q.tools if n.startswith(PREFIX)},
              {"Bash", "Read", "Write", "Edit", "Glob", "Grep"})
    q.say("done")
    c.turn_ends()


def tapped(home, change=""):
    """An entry whose lines are kept in in.log and out.log; change: a filter of what we read."""
    return {"command": "sh", "args": ["-c", "%s tee %s/in.log | %s mcp --workspace %s | "
                                      "tee %s/out.log" % (change, home.dir, ats.program("atsctl"),
                                                          home.ws, home.dir)]}


def messages(home, name):
    with open(os.path.join(home.dir, name), encoding="utf-8") as f:
        return [json.loads(x) for x in f]


@cli.test("on the wire: the newest MCP, an id of the tool use and a token in each call")
def _(home, wiring):
    if cli.is_older():
        ats.skip("older versions begin with initialize")
    c = Cli(home, wiring, entry=tapped(home))
    q = c.model.request()
    used = c.begin(q, ("Glob", {"pattern": "*"}), ("Bash", {"command": "echo hi"}))
    q = c.model.request()
    ats.equal(q.result(1).text, "hi")
    q.say("done")
    c.turn_ends()
    ats.equal(c.end(), 0)
    asked, said = messages(home, "in.log"), messages(home, "out.log")
    ats.equal(asked[0]["method"], "server/discover")
    ats.missing([m["method"] for m in asked], "initialize")
    calls = [m for m in asked if m["method"] == "tools/call"]
    ats.equal(sorted(m["params"]["_meta"]["claudecode/toolUseId"] for m in calls), sorted(used))
    for m in calls:
        ats.contains(m["params"]["_meta"], "progressToken")
        answer = next(x for x in said if x.get("id") == m["id"])
        ats.missing(answer["result"], "structuredContent")
    ats.check(not [m for m in said if "error" in m], said)


@cli.test("a server of before 2026-07-28: it begins with initialize, and all is as it was")
def _(home, wiring):
    older = r"""sed -u 's|"method":"server/discover"|"method":"no/such"|' |"""
    c = Cli(home, wiring, entry=tapped(home, older))
    q, r = c.use(c.model.request(), "Bash", command="mkdir d; cd d; echo hi")
    ats.equal(r.text, "hi")
    q, r = c.use(q, "Bash", command="pwd")
    ats.equal(r.text, os.path.join(home.ws, "d"))
    q, r = c.use(q, "Write", file_path=os.path.join(home.ws, "f"), content="x\n")
    ats.check(not r.is_error, r.text)
    ats.contains(json.dumps([q.body.get("system"), q.body["messages"]]),
                 "These tools run in a sandbox")
    q.say("done")
    c.turn_ends()
    ats.equal(c.end(), 0)
    init = next(m for m in messages(home, "in.log") if m["method"] == "initialize")
    ats.equal(init["params"]["protocolVersion"], "2025-11-25")
    answer = next(m for m in messages(home, "out.log") if m.get("id") == init["id"])
    ats.equal(answer["result"]["protocolVersion"], "2025-11-25")


ats.main()
