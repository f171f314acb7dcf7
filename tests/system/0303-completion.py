#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command and option that atsctl has is in its help, its manual and the completion of each
shell, and is offered where it may stand: asked of the shells themselves."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

GLOBAL = {"--socket", "--json", "--no-start", "--help", "--version"}


def table(home):
    """{command: (fixed words, options)} as --help of each says."""
    text = home.ctl("--help", code=0).stdout.decode()
    out = {}
    for name in re.findall(r"(?m)^  (\S+) +\S", text):
        usage = re.search(r"(?s)usage: atsctl %s *(.*?)\n\n" % name, home.ctl(
            name, "--help", code=0).stdout.decode()).group(1).replace("\n", " ").strip()
        first = usage.split(" ")[0]
        words = first.split("|") if re.match(r"[a-z]", first) else []
        out[name] = (set(words), set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", usage)))
    ats.check(len(out) > 20 and out["exec"][1] and out["session"][0], out)
    return out


def source(name):
    with open(os.path.join(ats.TOP, "brain/ctl", name), encoding="utf-8") as f:
        return f.read()


@ats.test("what the commands read is what their help and the manual say")
def _(home):
    with open(os.path.join(ats.TOP, "docs/man/atsctl.1"), encoding="utf-8") as f:
        man = f.read()
    rows = set(re.findall(r'COMMAND\(\w+, "(\w+)"', source("commands.def")))
    said = table(home)
    ats.equal(rows, set(said))
    for name, (words, options) in said.items():
        text = source("cmd_%s.c" % name)
        read = {"--" + o for o in re.findall(r"\{ \"([a-z-]+)\", [^,]+,\s*CTL_OPT_", text)}
        if not read and options:	# shared with another command
            read = {"--" + o for o in re.findall(r"\{ \"([a-z-]+)\", [^,]+,\s*CTL_OPT_",
                                                 source("calling.c"))}
            read |= {"--" + o for o in re.findall(r"\"([a-z-]+)\", [^,]+,\s*CTL_OPT_", text)}
        ats.equal(options - read, set(), name)
        ats.check(name in ("call", "gateway") or read == options, (name, read, options))
        ats.matches(man, r"(?m)^\.It Cm %s\b" % name)
        for o in options:
            ats.check("Fl -" + o[2:] in man or "Fl -" + o[2:].replace("-", "\\-") in man, (name, o))
        for w in words:
            ats.matches(man, r"\b%s\b" % w)


def bash(home, shell="bash"):
    script = home.ctl("completion", shell, code=0).stdout.decode()

    def ask(*words):
        more = "COMP_WORDS=(%s) COMP_CWORD=%d; _atsctl; echo \"${COMPREPLY[*]}\"" % (
            " ".join("'%s'" % w for w in words), len(words) - 1)
        if shell == "zsh":	# as zsh counts, and what bashcompinit calls the function with
            more = "setopt ksharrays\n" + more
            argv = ["zsh", "-f", "-c", "autoload -U compinit && compinit -D\n" + script + more]
        else:
            argv = ["bash", "-c", script + more]
        return set(subprocess.run(argv, stdout=subprocess.PIPE, check=True, env=home.env,
                                  timeout=ats.TIMEOUT).stdout.decode().split())
    return ask


def fish(home):
    script = home.ctl("completion", "fish", code=0).stdout.decode()

    def ask(*words):
        r = subprocess.run(["fish", "-c", script + "\ncomplete -C '%s'" % " ".join(words)],
                           stdout=subprocess.PIPE, check=True, env=home.env, timeout=ats.TIMEOUT)
        return {x.split("\t")[0] for x in r.stdout.decode().splitlines()}
    return ask


def offers(home, ask):
    said = table(home)
    got = ask("atsctl", "")
    ats.equal(set(said) - got, set())
    ats.equal(GLOBAL - ask("atsctl", "--"), set())
    for name, (words, options) in said.items():
        ats.equal((options | {"--json", "--help"}) - ask("atsctl", name, "--"), set(), name)
        got = ask("atsctl", name, "") if words else set()
        ats.equal(words - got, set(), name)
        others = {o for n, (_, more) in said.items() for o in more} - options - GLOBAL
        ats.equal(ask("atsctl", name, "--") & others, set(), name)


@ats.test("bash offers all of it, and nothing of another command")
def _(home):
    offers(home, bash(home))


@ats.test("so does zsh")
def _(home):
    if not shutil.which("zsh"):
        ats.skip("no zsh")
    offers(home, bash(home, "zsh"))


@ats.test("so does fish")
def _(home):
    if not shutil.which("fish"):
        ats.skip("no fish")
    offers(home, fish(home))


@ats.test("without these shells: each word is in the scripts")
def _(home):
    for shell in ("bash", "zsh", "fish"):
        script = home.ctl("completion", shell, code=0).stdout.decode()
        for name, (words, options) in table(home).items():
            if shell == "fish":
                lines = [x for x in script.splitlines()
                         if x.startswith("complete ") and "seen_subcommand_from %s'" % name in x]
                ats.matches(script, r"(?m)use_subcommand -a %s( |$)" % name)
                found = {"--" + o for x in lines for o in re.findall(r" -l (\S+)", x)}
                ats.equal(options - found, set(), name)
                found = {w for x in lines for w in re.findall(r" -a (\S+)", x)}
            else:
                arm = re.search(r"(?ms)^\t%s\) words='(.*?);;$" % name, script).group(1)
                ats.equal(options - set(arm.replace("'", " ").split()), set(), name)
                found = set(arm.replace("'", " ").split())
            ats.equal(words - found, set(), name)


ats.main()
