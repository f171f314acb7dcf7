# SPDX-License-Identifier: Apache-2.0
"""The words of the table of calls: what stands in a case's directory, and its steps.

A case has an id, a text, the entries of its directory and its steps. In arguments "$W" is the
case's directory, "$O" one outside of the workspace with the file "secret", and "$ID" the id
that the last background command got. Entries get times ten
seconds apart, in their order, so that "newest first" has one answer.
"""
import os
import socket
import time

OLDEST = 1_000_000_000
CASES = []


class Case:
    def __init__(self, id, text, files, steps, raw=(), alone=False, deadline=None,
                 needs=None):
        self.id, self.text, self.files, self.steps = id, text, files, steps
        self.needs = needs
        self.raw, self.alone, self.deadline = raw, alone, deadline
        self.dir = "c_" + id.replace(".", "_").replace("-", "_")


def case(id, text, files, *steps, **kw):
    """raw: rules that are left out here, so that the difference shows. alone: the shell's
    directory is put back afterwards. deadline: seconds for a call, where one may hang.
    needs: a program of the machine."""
    if any(c.id == id for c in CASES):
        raise ValueError("two cases are called " + id)
    CASES.append(Case(id, text, files, steps, **kw))


# ---- entries: bytes or text are a file --------------------------------------------------------

class Link:
    """A symbolic link; "$O" in its target is the directory outside of the workspace."""

    def __init__(self, target):
        self.target = target


link = Link


def hard(name):
    return lambda path: os.link(os.path.join(os.path.dirname(path), name), path)


def fifo(path):
    os.mkfifo(path, 0o666)


def directory(path):
    os.mkdir(path)


def listener(path):
    """A socket; by its short name in its directory, since an address has 108 bytes."""
    back = os.open(".", os.O_RDONLY)
    os.chdir(os.path.dirname(path))
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.basename(path))
    os.fchdir(back)
    os.close(back)


def sparse(size):
    def make(path):
        with open(path, "wb") as f:
            f.truncate(size)
    return make


class Mode:
    def __init__(self, mode, entry):
        self.mode, self.entry = mode, entry


def make(top, case, uid, outside):
    """Makes the directory of a case and returns its path."""
    where = os.path.join(top, case.dir)
    os.mkdir(where)
    names, modes = [where], []
    for i, (name, entry) in enumerate(case.files.items()):
        path = os.path.join(where, name) if isinstance(name, str) else where.encode() + b"/" + name
        if isinstance(entry, Mode):
            modes.append((path, entry.mode))
            entry = entry.entry
        up = os.path.dirname(path)
        while not os.path.isdir(up):
            names.append(up)
            up = os.path.dirname(up)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(entry, Link):
            os.symlink(entry.target.replace("$O", outside), path)
        elif callable(entry):
            entry(path)
        else:
            with open(path, "wb") as f:
                f.write(entry if isinstance(entry, bytes) else entry.encode())
        os.utime(path, (OLDEST + 10 * i,) * 2, follow_symlinks=False)
        names.append(path)
    if uid is not None:
        for path in names:
            os.chown(path, uid, uid, follow_symlinks=False)
    for path, mode in reversed(modes):
        os.chmod(path, mode)
    return where


# ---- steps -----------------------------------------------------------------------------------

class Call:
    """One tools/call; names says what the tool and its arguments are called where that
    depends on the version: {version: (tool, {our word: its word})}."""

    def __init__(self, tool, args, names=None, pause=False):
        self.tool, self.args, self.names, self.pause = tool, args, names or {}, pause

    def as_in(self, version):
        tool, words = self.names.get(version, (self.tool, {}))
        return tool, {words.get(k, k): v for k, v in self.args.items() if words.get(k, k)}


class Host:
    """Something that happens to the files meanwhile: act(path of the case's directory)."""

    def __init__(self, act):
        self.act = act


class Survivors:
    """How many processes of this side have the word in their command line."""

    def __init__(self, word):
        self.word = word


OLD_KILL = {"1.0.72": ("KillBash", {"id": "shell_id"}), "2.0.20": ("KillShell", {"id": "shell_id"}),
            "2.1.197": ("TaskStop", {"id": "shell_id"}), "2.1.332": ("TaskStop", {"id": "task_id"})}


def bash(command, **kw):
    return Call("Bash", {"command": command, **kw})


def kill():
    return Call("KillShell", {"id": "$ID"}, OLD_KILL)


def output(**kw):
    """What a background command printed, which TaskOutput waits for with block; asked until
    it ended with until_end."""
    until_end = kw.pop("until_end", False)
    names = {v: ("BashOutput", {"id": "bash_id", "block": None}) for v in ("1.0.72", "2.0.20")}
    for v in ("2.1.197", "2.1.332"):
        names[v] = ("TaskOutput", {"id": "task_id", "filter": None})
    return Call("BashOutput", {"id": "$ID", **kw}, names, pause=until_end)


def read(path, **kw):
    return Call("Read", {"file_path": at(path), **kw})


def write(path, content):
    return Call("Write", {"file_path": at(path), "content": content})


def edit(path, old, new, **kw):
    return Call("Edit", {"file_path": at(path), "old_string": old, "new_string": new, **kw})


def multi(path, *edits):
    keys = ("old_string", "new_string", "replace_all")
    return Call("MultiEdit", {"file_path": at(path),
                              "edits": [dict(zip(keys, e, strict=False)) for e in edits]})


def notebook(path, source, **kw):
    return Call("NotebookEdit", {"notebook_path": at(path), "new_source": source, **kw})


def glob(pattern, path="", **kw):
    return Call("Glob", {"pattern": pattern, "path": at(path), **kw})


def grep(pattern, path="", mode="content", **kw):
    kw = {"output_mode": mode, **kw}
    return Call("Grep", {"pattern": pattern, "path": at(path), **kw})


def ls(path="", **kw):
    return Call("LS", {"path": at(path), **kw})


def at(path):
    if path.startswith(("/", "~", "./", "$")):
        return path
    return "$W/" + path if path else "$W"


def put(name, data):
    """Another program replaces a file's content."""
    def act(where):
        with open(os.path.join(where, name), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        touch(name).act(where)
    return Host(act)


def touch(name):
    """A new time that no clock can take for that of the Read."""
    def act(where):
        os.utime(os.path.join(where, name), (time.time() + 10,) * 2)
    return Host(act)
