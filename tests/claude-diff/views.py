# SPDX-License-Identifier: Apache-2.0
"""What the model sees of a result. `claude mcp serve` answers with the structured outputs of
its tools as JSON; Claude Code makes the text for the model from them, as it is made here."""
import json
import re

BACKGROUND_ID = re.compile(r"background with ID: (\w+)")


def _joined(*parts):
    return "\n".join(p for p in parts if p)


def _bash(o):
    if o.get("isImage"):
        return "[image]"
    out = o.get("stdout", "")
    text = _joined(out.strip("\n") if out.strip() else "", o.get("stderr", "").strip())
    if o.get("interrupted"):
        text = _joined(text, "[interrupted]")
    if o.get("returnCodeInterpretation"):
        text = _joined(text, "[%s]" % o["returnCodeInterpretation"])
    if o.get("backgroundTaskId"):
        text = _joined(text, "Command running in background with ID: " + o["backgroundTaskId"])
    return text


def _numbered(f):
    start = int(float(f.get("startLine", 1)))      # 2.0 hands a string through
    if f["content"] == "" and start > f.get("totalLines", 0):
        return "[past the end]"
    if f["content"] == "" and f.get("totalLines", 0) <= 1:
        return "[empty]"
    return "\n".join("%d\t%s" % (start + i, line)
                     for i, line in enumerate(f["content"].split("\n")))


def _cells(cells):
    out = []
    for i, c in enumerate(cells):
        cell_id = c.get("cell_id") or c.get("id") or "cell-%d" % i
        source = c.get("source", "")
        source = "".join(source) if isinstance(source, list) else source
        out.append('<cell id="%s" type="%s">' % (cell_id, c.get("cellType", c.get("cell_type"))))
        out.append(source.rstrip("\n"))
        for o in c.get("outputs") or []:
            text = o.get("text", "") if isinstance(o, dict) else str(o)
            out += ["<output>", (text or "").strip("\n")]
            if isinstance(o, dict) and o.get("image"):
                out.append("[image %s]" % o["image"].get("media_type"))
            out.append("</output>")
        out.append("</cell>")
    return "\n".join(out) or "[no cells]"


def _read(o):
    kind, f = o["type"], o.get("file", {})
    if kind == "text":
        return _numbered(f)
    if kind == "image":
        return "[image %s]" % f["type"]
    if kind == "notebook":
        return _cells(f["cells"])
    if kind == "pdf":
        return "[document application/pdf]"
    if kind == "parts":
        return "[%d pages]" % f["count"]
    return "[%s]" % kind


def _hunks(patch):
    out = []
    for h in patch or []:
        out.append("@@ -%d,%d +%d,%d @@" % (h["oldStart"], h["oldLines"], h["newStart"],
                                            h["newLines"]))
        out += h["lines"]
    return "\n".join(out)


def _edit(o):
    return _joined("updated", _hunks(o.get("structuredPatch")))


def _write(o):
    return _joined("created" if o["type"] == "create" else "updated",
                   _hunks(o.get("structuredPatch")))


def _notebook(o):
    if o.get("error"):
        return "[error] " + o["error"]
    return "updated"


def _glob(o):
    if not o["filenames"]:
        return "No files found"
    return "\n".join(o["filenames"]) + ("\n[more]" if o.get("truncated") else "")


def _grep(o):
    mode = o.get("mode", "files_with_matches")
    if mode == "content":
        text = o.get("content") or "No matches found"
    elif mode == "count":
        text = o.get("content") or "No matches found"
        n = o.get("numMatches")
        if n is not None:
            text += "\n\n(%d matches in %d files)" % (n, o["numFiles"])
    else:
        files = o["filenames"]
        text = "No files found" if not files else "Found %d file%s\n%s" % (
            o["numFiles"], "" if o["numFiles"] == 1 else "s", "\n".join(files))
    if o.get("appliedLimit") or o.get("appliedOffset"):
        text += "\n[limit %s offset %s]" % (o.get("appliedLimit"), o.get("appliedOffset"))
    return text


def _output(o):
    """BashOutput, and TaskOutput of later versions."""
    o = o.get("task", o) or o
    text = o.get("stdout", o.get("output", ""))
    code = o.get("exitCode")
    return _joined("<status>%s</status>" % o.get("status"),
                   "" if code is None else "<exit_code>%s</exit_code>" % code,
                   text.strip("\n"), o.get("stderr", "").strip("\n"))


def printed(shown):
    """The output in a BashOutput's text, for one that was asked several times."""
    text = re.sub(r"^(<status>|<exit_code>)[^\n]*\n?", "", shown, flags=re.M)
    return "\n" + text if text else ""


def _stop(o):
    return "ended" if o.get("shell_id") or o.get("task_id") else o.get("message", "")


VIEWS = {"Bash": _bash, "Read": _read, "Edit": _edit, "MultiEdit": _edit, "Write": _write,
         "NotebookEdit": _notebook, "Glob": _glob, "Grep": _grep, "LS": str,
         "BashOutput": _output, "TaskOutput": _output, "KillBash": _stop, "KillShell": _stop,
         "TaskStop": _stop}


def native(tool, answer):
    """(is it an error, text) of an answer of `claude mcp serve`."""
    if "error" in answer:
        return True, answer["error"]["message"]
    r = answer["result"]
    texts = [c.get("text", "[%s]" % c["type"]) for c in r["content"]]
    if r.get("isError"):
        return True, "\n".join(texts)
    try:
        value = json.loads(texts[0])
    except ValueError:
        return False, "\n".join(texts)
    shown = _joined(VIEWS[tool](value), *texts[1:])
    if shown.startswith("[error] "):
        return True, shown[8:]
    return False, shown


def ours(_tool, answer):
    """(is it an error, text) of an answer of ATS, whose blocks the model sees as they are."""
    if "error" in answer:
        return True, answer["error"]["message"]
    r = answer["result"]
    parts = []
    for c in r["content"]:
        parts.append(c["text"] if c["type"] == "text" else
                     "[%s %s]" % (c["type"], c.get("mimeType", "")))
    return bool(r.get("isError")), "\n".join(parts)
