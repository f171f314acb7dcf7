# SPDX-License-Identifier: Apache-2.0
"""The processes of a running box by what they are, seen from outside."""
from box import ats


def status(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def processes(b):
    """{pid: status} of the box."""
    found = {}
    for pid in b.processes():
        try:
            found[pid] = status(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def roles(b):
    """{name: [pid]}; a zygote's child is named worker-..., a shell's monitor monitor."""
    table, names = processes(b), {}
    for pid, s in table.items():
        name, up = s["Name"], table.get(int(s["PPid"]), {}).get("Name")
        if name == up and name.startswith("zygote-"):
            name = name.replace("zygote-shell", "monitor").replace("zygote", "worker")
        names.setdefault(name, []).append(pid)
    return names


ALL = ("ats-front", "zygote-read", "zygote-write", "zygote-shell", "worker-read", "worker-write",
       "monitor", "sleep")


class Running:
    """With a call that runs, as {name: [pid]}: there is one of each of ALL at least."""

    def __init__(self, b):
        self.b = b

    def __enter__(self):
        self.call = self.b.start("Bash", command="exec sleep 60")
        return ats.until(lambda: (lambda r: all(n in r for n in ALL) and r)(roles(self.b)),
                         "a call that runs")

    def __exit__(self, *_):
        self.b.link.send("control.cancel", self.call, {})
        self.b.wait(self.call)
