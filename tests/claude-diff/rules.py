# SPDX-License-Identifier: Apache-2.0
"""The rules by which two texts become comparable: each is listed, says why, and can be left
out of a case (raw=...), so that what it hides shows there."""
import os
import re

# Names of errors: the first that a text of either side has. A text that none of these knows
# stands for itself.
ERRORS = (
    ("too long", r"E2BIG|Argument list too long"),
    ("bad arguments", r"failed schema validation|: unknown; there are|is required$|"
                      r": expected (a|an) |must not be empty$|The \"data\" argument must|"
                      r"Cell type is required|Invalid pages parameter"),
    ("nothing to change", r"match exactly|together change nothing"),
    ("bad image", r"(looks like|named as) an image|not a valid PNG|image processing failed|"
                  r"[Ee]mpty image|[Ii]mage file is empty"),
    ("not read", r"has not been read"),
    ("changed since", r"has changed since it was read|modified since read"),
    ("several matches", r"Found \d+ matches of the string|is in \d+ places"),
    ("no match", r"String (to replace )?not found in file|old_string was not found"),
    ("equal strings", r"exactly the same|are the same; there is nothing"),
    ("exists already", r"Cannot create new file|exists and is not empty"),
    ("directory", r"EISDIR|is a directory"),
    ("dangling link", r"is a symbolic link to something that does not exist"),
    ("below a file", r"ENOTDIR|a part of the path is not a directory"),
    ("no directory", r"is not a directory"),
    ("missing, did you mean", r"Did you mean"),
    ("missing", r"does not exist|ENOENT|Directory not found"),
    ("too large", r"exceeds maximum allowed (size|tokens)|File is too large|files of at most|"
                  r"contains over [\d.]+MB"),
    ("binary", r"cannot read binary files|which Read does not show"),
    ("no regular file", r"is not a regular file|not a regular file|ENXIO"),
    ("not allowed there", r"outside the directories|leads through a symbolic link|"
                          r"names a device or process file"),
    ("protected", r"is protected: programs on the host"),
    ("no permission", r"EACCES|[Pp]ermission denied|may not be written"),
    ("bad pattern", r"regex parse error|not a valid regular|pattern .*is not valid|"
                    r"error parsing glob"),
    ("bad type", r"unrecognized file type|is no file type|unknown type"),
    ("no such cell", r"It has no cell|Cell with (ID|index) .*(not found|does not exist)"),
    ("no cell named", r"Cell ID must be specified|is required to replace or delete"),
    ("no notebook", r"must be a Jupyter notebook|It is no notebook"),
    ("no such command", r"No (shell|task) found with ID|There is no background command"),
    ("no UTF-8", r"is not UTF-8|not valid UTF-8"),
    ("links in a circle", r"too many levels of symbolic|ELOOP|links do not resolve"),
)


class Rule:
    """side: native, ours or both. change(text, args, is_error) gives the new text. varies: what
    it takes away is another one in each run, or the machine's; all others must be left out of
    some case."""

    def __init__(self, id, side, tools, why, varies, change):
        self.id, self.side, self.tools, self.why = id, side, tools, why
        self.varies, self.change = varies, change


RULES = []


def rule(id, side, tools, why, varies=False):
    def register(change):
        RULES.append(Rule(id, side, tools.split(), why, varies, change))
        return change
    return register


def cut(pattern, text, by=""):
    return re.sub(pattern, by, text, flags=re.S)


@rule("error-prefix", "native", "Bash BashOutput Edit Glob Grep KillBash KillShell LS MultiEdit "
      "NotebookEdit Read TaskOutput TaskStop Write", "words before every error")
def _(text, args, is_error):
    return cut(r"^(Error: )+", text) if is_error else text


@rule("environment", "native", "Read", "the environment of the harness is the machine's",
      varies=True)
def _(text, args, is_error):
    return cut(r"^1\t.*canary-of-the-comparison.*", text, "[the environment, with its secrets]")


@rule("passwd", "native", "Read", "the machine's users", varies=True)
def _(text, args, is_error):
    return cut(r"^1\troot:x:.*", text, "[the users of the host]")


@rule("final-line", "native", "Read",
      "the line after the last newline is shown, with a number; there is no such line")
def _(text, args, is_error):
    return text if is_error else cut(r"\n\d+\t$", text)


@rule("empty", "ours", "Read", "an empty file, no cells, past the end: said in other words")
def _(text, args, is_error):
    text = cut(r"^\[\S+ is empty\.\]$", text, "[empty]")
    text = cut(r"^\[The notebook has no cells\.\]$", text, "[no cells]")
    return cut(r"^\[\S+ has \d+ lines?; offset \d+ is past its end\.\]$", text, "[past the end]")


@rule("range", "ours", "Read", "which lines these are, and of how many: the native tool says it nowhere")
def _(text, args, is_error):
    return cut(r"\n\n\[Lines \d+ to \d+ of \d+ are shown\. Go on with offset \d+\.\]$", text)


@rule("last-newline", "both", "Read LS", "a newline at the end of the text")
def _(text, args, is_error):
    return text.rstrip("\n")


@rule("silent", "ours", "Bash", "that there was no output")
def _(text, args, is_error):
    if text == "(The command succeeded and printed nothing.)":
        return ""
    return cut(r"\n\(no output\)$", text)


@rule("bash-name", "native", "Bash", "the shell's name in its messages")
def _(text, args, is_error):
    return text.replace("/bin/bash: ", "bash: ")


@rule("spill", "ours", "Bash", "the name of the file with the whole output", varies=True)
def _(text, args, is_error):
    return cut(r"/run/ats/spill/\w+\.out", text, "$SPILL")


@rule("process-id", "both", "Bash", "the number of a process that the shell tells of", varies=True)
def _(text, args, is_error):
    return cut(r"line (\d+): +\d+ (Segmentation|Killed|Terminated)", text, r"line \1: PID \2")


@rule("exit-words", "ours", "Bash", "what an exit code means")
def _(text, args, is_error):
    text = cut(r"^(Exit code \d+) \([^)]*\)", text, r"\1") if is_error else text
    return cut(r"^The shell was killed by signal (\d+)[^\n]*", text, r"Signal \1")


@rule("time-limit", "both", "Bash", "that the time limit has ended it")
def _(text, args, is_error):
    text = cut(r"^Timed out after [\d.]+ s[^\n]*", text, "Timed out")
    return cut(r"^Exit code 143\nCommand timed out after [\d.]+s", text, "Timed out")


@rule("left-over", "ours", "Bash", "what was still running when the shell ended")
def _(text, args, is_error):
    return cut(r"\[\d+ process(es)? (was|were) still running[^\]]*\]", text, "[left-over ended]")


@rule("cwd-removed", "ours", "Bash", "that the shell's directory is gone")
def _(text, args, is_error):
    return cut(r"\[The working directory was removed[^\]]*\]", text, "[directory removed]")


@rule("meaning", "both", "Bash", "what exit code 1 of grep, diff, test, find means")
def _(text, args, is_error):
    for ours, native in (("no line matched", "No matches found"), ("the files differ", "Files differ"),
                         ("the condition is false", "Condition is false"),
                         ("find had errors with some files", "Some directories were inaccessible")):
        text = text.replace("(exit code 1: %s)" % ours, "[%s]" % native)
    return text


@rule("cwd-reset", "both", "Bash", "the note that the working directory was reset")
def _(text, args, is_error):
    text = cut(r"\[The working directory was reset to ([^:]+): [^\]]*\]", text, r"[reset to \1]")
    text = cut(r"\n+Shell cwd was reset to (\S+)", text, r"\n[reset to \1]")
    return cut(r"^Shell cwd was reset to (\S+)", text, r"[reset to \1]")


@rule("image", "both", "Bash", "how an image's type is written here")
def _(text, args, is_error):
    return "[image]" if text == "[image image/png]" else text


@rule("background-id", "both", "Bash KillBash KillShell TaskStop BashOutput TaskOutput",
      "the id of a background command", varies=True)
def _(text, args, is_error):
    return cut(r"(running in background with ID: )\w+", text, r"\1$ID")


@rule("background-words", "ours", "Bash KillBash KillShell TaskStop",
      "how to go on with a background command, and how it ended")
def _(text, args, is_error):
    text = cut(r"(running in background with ID: \$ID)\. .*", text, r"\1")
    return cut(r"^\S+ was ended with .*", text, "ended")


@rule("output", "ours", "BashOutput TaskOutput", "what marks the output, and that there was nothing new")
def _(text, args, is_error):
    text = cut(r"\n?\(no new output\)$", text)
    return cut(r"<output>\n(.*)\n</output>", text, r"\1")


@rule("changed", "ours", "Write Edit MultiEdit",
      "the line before the diff: which file, how many places and bytes, what was kept")
def _(text, args, is_error):
    if is_error:
        return text
    text = cut(r"^(Edited|Wrote) [^\n]*", text, "updated")
    return cut(r"^Created [^\n]*", text, "created")


@rule("in-place", "ours", "Write Edit MultiEdit", "the note on files with several names")
def _(text, args, is_error):
    return cut(r"\nWritten in place, because [^\n]*", text)


@rule("notebook-diff", "ours", "NotebookEdit", "what was done, and the diff")
def _(text, args, is_error):
    return text if is_error else cut(r"^(Replaced|Inserted|Deleted) .*", text, "updated")


@rule("new-cell-id", "both", "files", "the random id of a new cell", varies=True)
def _(text, args, is_error):
    return cut(r'"id": "(?![abm]")[0-9a-z]{6,}"', text, '"id": "$NEW"')


@rule("order", "both", "Glob Grep", "the order of files: newest first or oldest first")
def _(text, args, is_error):
    if is_error or "-A" in args or "-B" in args or "-C" in args:
        return text
    head = cut(r"^(Found \d+ files?\n)?.*", text, r"\1")
    lines = text[len(head):].split("\n")
    tail = [s for s in lines if not s or s[0] in "([" or "..." in s]
    return head + "\n".join(sorted(s for s in lines if s not in tail) + tail)


@rule("grep-number", "both", "Grep", "line numbers where -n is not given: ours are on, 1.0 and 2.0 off")
def _(text, args, is_error):
    if "-n" in args or args.get("output_mode") != "content":
        return text
    return re.sub(r"(?m)^(\$W\S*?[:-])\d+[:-]", r"\1", text)


@rule("grep-total", "both", "Grep", "how many matches there are in all")
def _(text, args, is_error):
    return cut(r"\n*\n\(\d+ match(es)? in \d+ files?\)$", text)


@rule("none", "both", "Glob Grep", "that nothing was found")
def _(text, args, is_error):
    return cut(r"^No (files|matches) (found|matched)[^\n]*", text, "[none]")


def paths(text, case, side):
    """$W is the case's directory, $R the workspace, ~ the home: they differ by the run."""
    home = side.home
    inside = re.escape(case.dir)
    text = re.sub(re.escape(home.ws) + "/" + inside, "$W", text)
    text = re.sub(r"(?<![\w/])" + inside, "$W", text)
    text = text.replace(home.ws, "$R").replace(home.home, "~")
    text = text.replace(side.outside, "$O")
    return text.replace(os.path.basename(side.outside), "outside")


def error_class(tool, text):
    """What a command printed is not searched for names of errors."""
    if tool == "Bash" and not re.match(r"Bash: |Tool Bash |spawn |E2BIG|Could not start", text) \
            and "Argument list too long" not in text:
        return None
    for name, pattern in ERRORS:
        if re.search(pattern, text, re.S):
            return name
    return None


def unshown(cases):
    """Rules that hide something which no case shows."""
    shown = {id for case in cases for id in case.raw}
    return [r.id for r in RULES if not r.varies and r.id not in shown]


def canonical(who, tool, is_error, text, args, case, side):
    """who: native or ours; side: the Side that said it."""
    text = paths(text, case, side)
    for r in RULES:
        if r.side in (who, "both") and tool in r.tools and r.id not in case.raw:
            text = r.change(text, args, is_error)
    if is_error:
        name = error_class(tool, text)
        return "error: " + (name or text)
    return text
