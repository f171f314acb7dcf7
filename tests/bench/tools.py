# SPDX-License-Identifier: Apache-2.0
"""The tools through the whole chain: Grep, Glob, Edit, large Reads, calls a second."""
import json
import os
import shutil
import statistics
import subprocess
import time

from rig import DRIVERS, Mcp

RARE = "PM_RESUME"
GREPS = (       # figure, Grep's arguments, ripgrep's
    ("rare literal", {"pattern": RARE}, [RARE]),
    ("alternation", {"pattern": "ERR_SYS|PME_TURN_OFF|LINK_REQ_RST|CFG_BME_EVT"},
     ["ERR_SYS|PME_TURN_OFF|LINK_REQ_RST|CFG_BME_EVT"]),
    ("case-insensitive", {"pattern": "pm_resume", "-i": True}, ["-i", "pm_resume"]),
    (r"\w+_lock\(", {"pattern": r"\w+_lock\("}, [r"\w+_lock\("]),
)


class Tools:
    def rounds(self, n):
        return 3 if self.args.quick else n

    def grep(self):
        tree, rg13, rg15 = self.tree(), shutil.which("rg"), self.rg15()
        if tree is None or not (rg13 or rg15):
            self.skip("Grep over a kernel tree", "no tree or no ripgrep (tests/bench/setup)")
            return
        mcp = self.mcp("--workspace", tree)
        rgs = {k: v for k, v in (("rg 13", rg13), ("rg 15", rg15)) if v}

        def ats(arguments):
            return lambda: mcp.call("Grep", arguments)[0]
        try:
            for name, arguments, words in GREPS:
                arguments = dict(arguments, output_mode="content", path=tree, head_limit=0)
                t = self.interleave({"ats": ats(arguments), **{
                    k: [rg, "-n", *words, tree] for k, rg in rgs.items()}}, self.rounds(9))
                label = min((k for k in t if k != "ats"), key=t.get)
                self.ratio("Grep %s, kernel tree" % name, t["ats"], t[label], label, 1.05)
            if rg15:
                p = r"\w{5}\s+\w{5}\s+\w{5}$"
                t = self.interleave({
                    "ats": ats({"pattern": p, "path": tree, "output_mode": "content",
                                "head_limit": 0}),
                    "rg": [rg15, "-n", p, tree]}, self.rounds(5))
                self.ratio("Grep without a literal", t["ats"], t["rg"], "rg 15", 2)
            if rg13:
                self.grep_output(ats, tree, rg13)
        finally:
            mcp.close()

    def grep_output(self, ats, tree, rg):
        file, kernel = os.path.join(tree, "kernel/fork.c"), os.path.join(tree, "kernel")
        small = os.path.join(tree, "lib/errname.c")
        for p in (file, small):
            if not os.path.exists(p):
                self.skip("Grep's outputs", "no %s" % p)
                return
        word, content = {"pattern": "return", "path": tree}, {"output_mode": "content"}
        rows = (
            ("Grep common literal, 88 MB of output", dict(word, **content, head_limit=0),
             [rg, "-n", "return", tree], 0.9),
            ("Grep files_with_matches, newest first", word,
             [rg, "-l", "--sortr", "modified", "return", tree], 0.5),
            ("Grep the first 250 lines", dict(word, **content),
             ["sh", "-c", '"$0" -n return "$1" | head -250', rg, tree], 0.5),
            ("Grep one 4 KiB file", {"pattern": "ENOMEM", "path": small, **content},
             [rg, "-n", "ENOMEM", small], 0.25),
            ("Grep %d files" % sum(len(f) for _, _, f in os.walk(kernel)),
             {"pattern": "spin_lock_irqsave", "path": kernel, **content},
             [rg, "-n", "spin_lock_irqsave", kernel], 0.8),
        )
        for name, arguments, argv, reach in rows:
            t = self.interleave({"ats": ats(arguments), "rg": argv}, self.rounds(9))
            self.ratio(name, t["ats"], t["rg"], "rg 13", reach)

    def glob(self):
        tree, rg = self.tree(), shutil.which("rg")
        if tree is None:
            self.skip("Glob over a kernel tree", "no tree (tests/bench/setup)")
            return
        mcp, fs = self.mcp("--workspace", tree), self.npm("mcp-server-filesystem")
        fd = shutil.which("fdfind") or shutil.which("fd")
        peers = {}
        if rg:
            peers["rg --sortr modified"] = [rg, "--files", "--sortr", "modified", "-g",
                                            "**/*.c", tree]
        if fd:
            peers["fd -u"] = [fd, "-u", "-e", "c", ".", tree]
        t = self.interleave({"ats": lambda: mcp.call(
            "Glob", {"pattern": "**/*.c", "path": tree})[0], **peers}, self.rounds(9))
        mcp.close()
        for name, reach in (("rg --sortr modified", 0.5), ("fd -u", 1.0)):
            if name in t:
                self.ratio("Glob **/*.c by mtime, to " + name, t["ats"], t[name], name, reach)
            else:
                self.skip("Glob, to " + name, "not installed")
        if not fs:
            self.skip("Glob, to server-filesystem", "not installed (tests/bench/setup)")
            return
        node = Mcp(["node", fs, tree], self.env, self.ws)
        slow = statistics.median(node.call("search_files", {
            "path": tree, "pattern": "**/*.c"})[0] for _ in range(1 if self.args.quick else 3))
        node.close()
        self.faster("  faster than server-filesystem", t["ats"], slow, "", 60)

    def edit(self):
        """An edit and the edit back, by turns, each of an own file."""
        files = {}
        for name in ("ats", "fs"):
            files[name] = os.path.join(self.ws, "edit-%s.txt" % name)
            with open(files[name], "w") as f:
                f.write("unique marker AAAA here\n" + "a line of the file\n" * 214)
        floor = os.path.join(self.ws, "edit-floor.txt")
        shutil.copy(files["ats"], floor)
        # The floor takes turns with them: a disk that was idle is slower than a busy one, and
        # what one writes another's fsync has to write as well.
        spec = [("server", "ats", *self.ats_mcp), ("server", "floor", os.path.join(
            DRIVERS, "mcpchain"), "relay", "replace"),
            ("call", "ats", "read", json.dumps({"name": "Read", "arguments": {
                "file_path": files["ats"]}})),
            ("call", "floor", "floor", '{"name":"read","arguments":{"path":"%s"}}' % floor)]
        marks = ("unique marker AAAA here", "unique marker BBBB here")
        fs = self.npm("mcp-server-filesystem")
        if fs:
            spec.append(("server", "fs", "node", fs, self.ws))
        for old, new in (marks, marks[::-1]):
            spec.append(("call", "ats", "ats " + old[14], json.dumps({
                "name": "Edit", "arguments": {"file_path": files["ats"], "old_string": old,
                                              "new_string": new}})))
            if fs:
                spec.append(("call", "fs", "fs " + old[14], json.dumps({
                    "name": "edit_file", "arguments": {"path": files["fs"], "edits": [
                        {"oldText": old, "newText": new}]}})))
        n = "30" if self.args.quick else "200"
        r = self.mcpbench(spec, "-n", n, "-w", "30", "-p", "1000")

        def median(name):
            return statistics.mean(r["%s %s" % (name, x)]["median_us"] for x in "AB")
        ats = median("ats")
        self.row("Edit 4 KiB over MCP, with fsync", ats, "us", "", "", None)
        if fs:
            self.faster("  faster than server-filesystem", ats, median("fs"), "no fsync:", 1.5,
                        "us", 1)
        else:
            self.skip("  server-filesystem", "not installed (tests/bench/setup)")
        self.ratio("  ratio to write + fsync + rename in the chain", ats,
                   r["floor"]["median_us"], "floor", 1.4, "us", 1)

    def read256k(self):
        path = os.path.join(self.ws, "f240k.txt")
        with open(path, "w") as f:
            for i in range(1900):
                f.write("%05d %s\n" % (i, "static int some_function(int argument); " * 3))
        stub = json.dumps({"name": "read", "arguments": {"path": path}})
        r = self.mcpbench([
            ("server", "ats", *self.ats_mcp),
            ("server", "stub", os.path.join(DRIVERS, "mcpstub")),
            ("call", "ats", "ats", json.dumps({"name": "Read", "arguments": {
                "file_path": path}})),
            ("call", "stub", "stub", stub.replace('": "', '":"'))],
            "-n", "50" if self.args.quick else "300", "-w", "30", "-p", "1000")
        for k in r:
            if r[k]["bytes"] < 200 << 10:
                raise ValueError("%s answered %d bytes" % (k, r[k]["bytes"]))
        self.ratio("Read a 256 KiB page over MCP", r["ats"]["median_us"],
                   r["stub"]["median_us"], "in-process stub", 1.6, "us", 1)

    def per_second(self):
        """Calls a second, each in a fresh worker, with as many asked for as are wanted."""
        path = os.path.join(self.ws, "f4k.txt")
        n = "3" if self.args.quick else "10"
        for label, burst, call, reach in (
                ("Read", "400", {"file_path": path}, 1500),
                ("Grep", "400", {"pattern": "00050", "path": path,
                                 "output_mode": "content"}, 1500),
                ("LS", "400", {"path": self.ws}, 1500),
                ("Bash", "200", {"command": "true"}, 300)):
            r = self.mcpbench([("server", "ats", *self.ats_mcp), ("call", "ats", "c", json.dumps(
                {"name": label, "arguments": call}))], "-n", n, "-w", "1", "-b", burst,
                "-p", "50000")["c"]
            rate = 1e6 / r["median_us"]
            self.row("%s, sustained calls a second" % label, rate, "/s", "", ">= %d" % reach,
                     rate >= reach)
        if shutil.which("bwrap"):
            count = 40 if self.args.quick else 200
            t0 = time.monotonic()
            subprocess.run(["sh", "-c", "seq %d | xargs -P 2 -I{} bwrap --ro-bind / / --dev "
                            "/dev --proc /proc --unshare-all --die-with-parent /bin/bash -c "
                            "true" % count], check=True)
            self.row("  bwrap, two at a time", count / (time.monotonic() - t0), "/s", "", "",
                     None)

    def raw50m(self):
        """50 MiB through ats/tool.call, as atsctl call --data asks for it. The peaks are those
        of a brain that did nothing else, in a round that is not timed."""
        big = os.path.join(self.ws, "big.txt")
        with open(big, "w") as f:
            for i in range(50 << 20 >> 16):
                f.write(("%07d some text of a long file\n" % i) * 2048)
        size, times, peak = os.path.getsize(big), [], 0
        self.atsctl("shutdown", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        argv = [self.ats_mcp[0], "call", "--data", "/dev/null", "Read",
                json.dumps({"file_path": big})]
        self.atsctl("call", "LS", json.dumps({"path": self.ws}), stdout=subprocess.DEVNULL)
        brain = self.brain_pid()
        p = subprocess.Popen(argv, env=self.env, cwd=self.ws)
        while p.poll() is None:
            peak = max(peak, self.peak_kib([p.pid] + self.children(brain)))
        for _ in range(self.rounds(9)):
            t0 = time.monotonic()
            self.atsctl(*argv[1:], check=True)
            times.append(time.monotonic() - t0)
        ats = statistics.median(times)
        self.row("Read %d MiB raw, ats/tool.call" % (size >> 20), ats * 1e3, "ms",
                 "%.2f GB/s" % (size / ats / 1e9), "", None)
        self.row("  largest process", peak / 1024, "MiB", "", "<= 16", peak <= 16384)
        fs = self.npm("mcp-server-filesystem")
        if fs:
            node = Mcp(["node", fs, self.ws], self.env, self.ws)
            slow = statistics.median(node.call("read_text_file", {"path": big})[0]
                                     for _ in range(self.rounds(5)))
            self.faster("  faster than server-filesystem", ats, slow, "%d MiB," % (
                self.peak_kib([node.proc.pid]) >> 10), 10)
            node.close()
        else:
            self.skip("  server-filesystem", "not installed (tests/bench/setup)")
        os.unlink(big)

    FIGURES = ("grep", "glob", "edit", "read256k", "raw50m", "per_second")
