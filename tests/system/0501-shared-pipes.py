#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pipes of an exec that somebody else reads, too: that costs bytes, not the sandbox."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def bystander(home):
    """A call of another session in the same sandbox, and how it is told to end."""
    fifo = os.path.join(home.ws, "go")
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    mcp = home.mcp("--session", "other")
    mcp.initialize()
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {"command": "cat go"}})

    def end():
        with open(fifo, "w", encoding="ascii") as f:
            f.write("fine\n")
        a = mcp.answer(id)
        ats.equal(a["result"]["content"], [{"type": "text", "text": "fine"}])

    ats.until(lambda: any(ats.comm(p) == "cat" for p in home.ours()), "it runs")
    return end


@ats.test("two readers of one stdin")
def _(home):
    home.start()
    end = bystander(home)
    r = subprocess.run(
        ["bash", "-c", "head -c 300000000 /dev/zero | ('%s' exec -- wc -c <&0 & "
         "cat > /dev/null; wait $!)" % ats.program("atsctl")],
        env=home.env, cwd=home.ws, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
        check=False)
    ats.equal((r.returncode, r.stderr), (0, b""))
    ats.check(r.stdout.strip().isdigit(), r.stdout)
    end()


@ats.test("a command that reads its own stdout")
def _(home):
    home.start()
    end = bystander(home)
    r = home.ctl("exec", "--", "bash", "-c",
                 "exec 3</proc/self/fd/1; cat <&3 >/dev/null & cat <&3 >/dev/null & "
                 "head -c 300000000 /dev/zero; kill %1 %2; wait; "
                 "echo; echo last", timeout=60)
    ats.equal((r.returncode, r.stderr), (0, b""))
    ats.check(r.stdout.endswith(b"last\n"), "its last line is there")
    end()


ats.main()
