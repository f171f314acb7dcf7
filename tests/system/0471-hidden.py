#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox.deny_read: what the host hides is found by no tool, by no name and through no link,
and shells find nothing readable in its place."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

SECRET = "tell-nobody-4711"


def start(home, users=None):
    """A workspace with hidden things, and a client."""
    for name, text in ((".env", SECRET), ("keys/a/id", SECRET), ("keys/plain.txt", SECRET),
                       ("src/main.c", "int main; /* shown */"), ("src/deep/.env", SECRET),
                       ("src/deep/public.pem", "shown"), ("src/x.pem", SECRET)):
        home.write(name, text.encode())
    os.symlink("keys", os.path.join(home.ws, "way"))
    os.symlink("../.env", os.path.join(home.ws, "src", "innocent.txt"))
    os.symlink("src", os.path.join(home.ws, "alias"))
    home.configure({"sandbox": {"deny_read": [".env", "/keys/", "*.pem", "!public.pem"]}})
    m = home.mcp()
    m.initialize()
    return m


@ats.test("no tool opens a hidden file, by its name, a link or a directory above it")
def _(home):
    m = start(home)
    for name in (".env", "src/deep/.env", "keys/plain.txt", "keys/a/id", "way/a/id", "src/x.pem",
                 "src/innocent.txt", "alias/deep/.env", "./keys/../keys/plain.txt",
                 os.path.join(home.ws, ".env"), "keys/new", ".env"):
        for tool, args in (("Read", {}), ("Write", {"content": "x"}),
                           ("Edit", {"old_string": "tell", "new_string": "x"})):
            text = m.error(tool, file_path=name, **args)
            ats.contains(text, "hidden from tools", name)
            ats.missing(text, SECRET)
        text = m.error("Grep", pattern="tell", path=name)
        ats.contains(text, "hidden from tools", name)
    for name in ("keys", "way", "keys/a"):
        ats.contains(m.error("LS", path=name), "hidden from tools")
        ats.contains(m.error("Glob", pattern="*", path=name), "hidden from tools")
        ats.contains(m.error("Grep", pattern="tell", path=name), "hidden from tools")
    ats.equal(open(os.path.join(home.ws, ".env")).read(), SECRET)
    ats.check(not os.path.exists(os.path.join(home.ws, "keys/new")))
    ats.contains(m.text("Read", file_path="src/main.c"), "shown")
    ats.contains(m.text("Read", file_path="src/deep/public.pem"), "shown")


@ats.test("no list names a hidden file, nor does a suggestion")
def _(home):
    m = start(home)
    whole = (m.text("Glob", pattern="**/*") + m.text("Grep", pattern=".", output_mode="content") +
             m.text("Grep", pattern=".", path="alias", output_mode="content") +
             m.text("LS", path=".") + m.text("LS", path="alias") + m.text("LS", path="src/deep") +
             m.text("Glob", pattern="*", path="alias/deep") +
             m.text("Grep", pattern="tell", path="src"))
    for part in ("main.c", "public.pem", "shown"):
        ats.contains(whole, part)
    for part in (SECRET, ".env", "keys", "x.pem", "plain.txt"):
        ats.missing(whole, part)
    for near in (".envx", "key", "src/y.pem", "keys/plain.tx"):
        text = m.error("Read", file_path=near)
        for part in (".env?", "keys?", "x.pem?", "plain.txt?"):
            ats.missing(text, part)


@ats.test("nor does one that begins above the workspace")
def _(home):
    m = start(home)                     # the workspace is below /tmp, which is in reach
    m.text("Bash", command="ln -s %s/.env /tmp/l; ln -s %s/keys /tmp/k" % (home.ws, home.ws))
    up = os.path.relpath(home.ws, "/tmp")
    whole = m.text("Grep", pattern=".", path="/tmp", output_mode="content")
    for tool, args in (("Grep", {"pattern": "tell"}), ("Grep", {"pattern": "tell", "glob": "**/.env"}),
                       ("Glob", {"pattern": "**/*"}), ("Glob", {"pattern": up + "/*"}),
                       ("Glob", {"pattern": up + "/src/**"}), ("Glob", {"pattern": "{%s,x}/*" % up})):
        for path in ("/tmp", os.path.dirname(home.ws)):
            whole += m.text(tool, path=path, **args)
    ats.contains(whole, "main.c")
    ats.contains(whole, "public.pem")
    for part in (SECRET, ".env", "keys", "x.pem", "plain.txt"):
        ats.missing(whole, part)
    ats.contains(m.tool("Glob", {"pattern": up + "/keys/*", "path": "/tmp"})["content"][0]["text"],
                 "hidden from tools")


@ats.test("a file that appears later is hidden from the file tools, too", users=True)
def _(home):
    m = start(home)
    ats.contains(m.text("LS", path="."), "src")
    home.write("late/.env", SECRET.encode())
    ats.contains(m.error("Read", file_path="late/.env"), "hidden from tools")
    ats.missing(m.text("Glob", pattern="**/*"), "late")


@ats.test("shells find an unreadable file or an empty directory", users=True)
def _(home):
    m = start(home)
    text = m.text("Bash", command="cat .env src/deep/.env src/x.pem src/innocent.txt alias/deep/.env;"
                  " ls -A keys way; grep -rs tell . ; echo done; cat src/deep/public.pem")
    ats.missing(text, SECRET)
    ats.equal(text.count("Permission denied"), 5, text)
    ats.contains(text, "done")
    ats.contains(text, "shown")
    for cmd in ("chmod 644 .env", "rm -f .env", "mv .env other", "echo x >.env", "rm -rf keys",
                "mv keys other", "umount .env", "touch keys/x"):
        ats.check(m.error("Bash", command=cmd) != "", cmd)
    ats.equal(open(os.path.join(home.ws, ".env")).read(), SECRET)
    ats.equal(open(os.path.join(home.ws, "keys/plain.txt")).read(), SECRET)


@ats.test("a shell does not move what is hidden by its place to where no rule names it", users=True)
def _(home):
    for name in ("config/s.json", "a/b/config/s.json", "k/keys/id", "free/.env", "a/b/.env"):
        home.write(name, SECRET.encode())
    home.configure({"sandbox": {"deny_read": ["/config/s.json", "a/b/config/s.json", "k/keys/",
                                              ".env"]}})
    m = home.mcp()
    m.initialize()
    for cmd in ("mv config c2", "mv a z", "mv a/b a/z", "mv a/b/config a/b/z", "mv k k2",
                "rm -rf config", "mv -T --exchange config free || false"):
        ats.check(m.error("Bash", command=cmd) != "", cmd)
    # Hidden by its name alone it may go anywhere, and the rest of a held directory, too.
    m.text("Bash", command="mv free moved && touch config/x && mv config/x y && mv y a/b/z")
    ats.contains(m.error("Read", file_path="moved/.env"), "hidden from tools")
    whole = m.text("Bash", command="cat moved/.env; grep -rs tell .; echo done") + \
        m.text("Grep", pattern="tell", output_mode="content") + m.text("Glob", pattern="**/*")
    ats.contains(whole, "done")
    for part in (SECRET, "s.json", ".env\n", "id\n"):
        ats.missing(whole, part)


@ats.test("directories nested deeply cost a mount each, not more with each level")
def _(home):
    way = "/".join("d%d" % i for i in range(40))
    home.write(way + "/s", SECRET.encode())
    home.write("d0/.env", SECRET.encode())
    home.configure({"sandbox": {"deny_read": ["/" + way + "/s", ".env"]}})
    m = home.mcp()
    m.initialize()
    n = int(m.text("Bash", command="grep -c /d0 /proc/self/mountinfo"))
    ats.check(40 < n < 100, "%d mounts" % n)


@ats.test("rules that cannot be kept refuse the sandbox, and say so")
def _(home):
    home.configure({"sandbox": {"deny_read": ["many*"]}})
    for i in range(300):
        home.write("many%d" % i, b"")
    text = home.ctl("call", "Bash", '{"command":"true"}', code=125)
    ats.contains((text.stdout + text.stderr).decode(), "more files than can be covered")
    home.configure({"sandbox": {"deny_read": ["# no rule"]}})
    text = home.ctl("config", "check", code=2)
    ats.contains((text.stdout + text.stderr).decode(), "sandbox.deny_read")


ats.main()
