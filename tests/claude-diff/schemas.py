# SPDX-License-Identifier: Apache-2.0
"""tools/list of both sides: what a model that knows a version's tools may send must be
accepted, and what a description promises must hold for ours too. The argument types that come
with the package (sdk-tools.d.ts) name tools that `claude mcp serve` does not list."""
import os
import re

from sides import ats
from table import Case

ALIASES = {ats.def_string(a[0]): ats.def_string(a[1])
           for m, a in ats.def_rows("proto/tools.def") if m == "ALIAS"}
INTERFACES = {
    "BashInput": "Bash", "BashOutputInput": "BashOutput", "KillShellInput": "KillShell",
    "TaskOutputInput": "TaskOutput", "TaskStopInput": "TaskStop", "FileReadInput": "Read",
    "FileWriteInput": "Write", "FileEditInput": "Edit", "FileMultiEditInput": "MultiEdit",
    "NotebookEditInput": "NotebookEdit", "GlobInput": "Glob", "GrepInput": "Grep", "LsInput": "LS",
}
# What descriptions say in numbers and words: (tool, what, pattern for the native text, pattern
# for ours). A version whose text does not have it is not asked. Texts are the description and
# those of the parameters.
FACTS = (
    ("Bash", "default time limit, ms", r"timeout after (\d+)ms", r"Milliseconds, (\d+) unless given"),
    ("Bash", "longest time limit, ms", r"[Oo]ptional timeout in milliseconds \(max (\d+)",
     r'"timeout".*?"maximum": (\d+)'),
    ("Bash", "characters of output", r"output exceeds (\d+) characters", r"Output over ([\d,]+) characters"),
    ("Bash", "the directory stays", r"working (directory) persists", r"working (directory) persists"),
    ("Bash", "the shell stays", r"(persistent) shell session", r"(persistent) shell"),
    ("Read", "default lines", r"reads up to (\d+) lines", r"How many lines, (\d+) unless given"),
    ("Read", "characters of a line", r"lines longer than (\d+) characters", r"cut after ([\d,]+) characters"),
    ("Read", "the path is absolute", r"must be an (absolute) path", r"Paths are (absolute)"),
    ("Edit", "read before", r"use your `(Read)` tool at least once", r"was (read) in this session"),
    ("Edit", "one place", r"FAIL if `old_string` is (not unique)", r"match exactly (one place)"),
    ("Write", "read before", r"MUST use the (Read) tool first", r"must have been (read) in this session"),
    ("Glob", "order", r"sorted by (modification time)", r"(Newest first)"),
    ("Grep", "default mode", r"Defaults to ..?(files_with_matches)", r"(files_with_matches) unless given"),
    ("Grep", "multiline", r"(. matches newlines)", r"(. matches newlines)"),
    ("MultiEdit", "all or none", r"either (all succeed or none)", r"(All are made or none)"),
)
SAME_WORDS = {"modification time": "newest first", "not unique": "one place",
              "all succeed or none": "all are made or none"}


def properties(schema):
    return schema.get("properties", {})


def limits(p):
    low = p.get("minimum", p["exclusiveMinimum"] + 1 if "exclusiveMinimum" in p else None)
    return low, p.get("maximum")


def argument(name, native, ours):
    """Differences of one argument; native is what must fit into ours."""
    if ours is None:
        return [("argument " + name, native.get("type", "there"), "not there")]
    kinds = [{"integer": "number"}.get(p.get("type"), p.get("type")) for p in (native, ours)]
    out = []
    if kinds[0] and kinds[0] != kinds[1]:
        out.append(("type of " + name, str(kinds[0]), str(kinds[1])))
    missing = set(native.get("enum", ())) - set(ours.get("enum", native.get("enum", ())))
    if missing:
        out.append(("values of " + name, " ".join(sorted(missing)), "not there"))
    (low, high), (our_low, our_high) = limits(native), limits(ours)
    if low is not None and our_low is not None and our_low > low:
        out.append(("least " + name, str(low), str(our_low)))
    if high is not None and our_high is not None and our_high < high and high < 2 ** 53 - 1:
        out.append(("greatest " + name, str(high), str(our_high)))
    if native.get("type") == "array" and native["items"].get("type") == "object":
        out += arguments(native["items"], ours["items"])
    return out


def arguments(native, ours):
    out = []
    for name, p in sorted(properties(native).items()):
        out += argument(name, p, properties(ours).get(name))
    for name in sorted(set(ours.get("required", ())) - set(native.get("required", ()))):
        out.append(("required", "no " + name, name))
    return out


def text_of(tool):
    """The description, and the schema as text."""
    parts = [tool["description"]]
    for name, p in properties(tool["inputSchema"]).items():
        parts.append('"%s": %s "maximum": %s' % (name, p.get("description", ""), p.get("maximum")))
    return "\n".join(parts)


def facts(name, native, ours):
    out = []
    for tool, what, theirs, mine in FACTS:
        found = re.search(theirs, text_of(native), re.S) if tool == name else None
        if not found:
            continue
        said = [m.group(1).replace(",", "").lower() if m else "not said"
                for m in (found, re.search(mine, text_of(ours), re.S))]
        said[0] = SAME_WORDS.get(said[0], said[0])
        if said[0] != said[1]:
            out.append((what, *said))
    return out


def types(folder):
    """tool -> JSON schema with names alone, from the package's argument types."""
    with open(os.path.join(folder, "claude-code", "sdk-tools.d.ts"), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    out = {}
    for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.S | re.M):
        if name in INTERFACES:
            fields = re.findall(r'^  "?([\w-]+)"?(\??):', body, re.M)
            out[INTERFACES[name]] = {"properties": {n: {} for n, _ in fields},
                                     "required": [n for n, optional in fields if not optional]}
    return out


def compare(native, ours, folder):
    """Yields (case, differences) as run.compare does."""
    names = {n: ALIASES.get(n, n) for n in native}
    yield Case("schema.tools", "the tools that are offered", {}, ()), [
        ("tool " + n, "offered", "not there") for n in sorted(native) if names[n] not in ours]
    for name in sorted(n for n in native if names[n] in ours):
        mine = ours[names[name]]
        yield Case("schema." + name, "arguments", {}, ()), arguments(
            native[name]["inputSchema"], mine["inputSchema"])
        yield Case("facts." + name, "what the description promises", {}, ()), facts(
            name, native[name], mine)
    for name, schema in sorted(types(folder).items()):
        yield Case("types." + name, "arguments in sdk-tools.d.ts", {}, ()), (
            arguments(schema, ours[name]["inputSchema"]) if name in ours else
            [("tool", "there", "not there")])
