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


def run(home, argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, env=home.env,
                          timeout=ats.TIMEOUT).stdout.decode()


# One process of a shell answers all questions: to start one takes longer than to ask it.
def bash(home, questions, shell="bash"):
    script = home.ctl("completion", shell, code=0).stdout.decode()
    asked = "".join("COMP_WORDS=(%s) COMP_CWORD=%d; _atsctl; echo \"${COMPREPLY[*]}\"\n" % (
        " ".join("'%s'" % w for w in words), len(words) - 1) for words in questions)
    if shell == "zsh":      # as zsh counts, and what bashcompinit calls the function with
        out = run(home, ["zsh", "-f", "-c", "autoload -U compinit && compinit -D\n" + script +
                         "setopt ksharrays\n" + asked])
    else:
        out = run(home, ["bash", "-c", script + asked])
    return [set(line.split()) for line in out.split("\n")[:-1]]


def zsh(home, questions):
    return bash(home, questions, "zsh")


def fish(home, questions):
    script = home.ctl("completion", "fish", code=0).stdout.decode()
    out = run(home, ["fish", "-c", script + "".join(
        "\ncomplete -C '%s'; echo =" % " ".join(words) for words in questions)])
    return [{x.split("\t")[0] for x in part.splitlines()} for part in out.split("=\n")[:-1]]


def offers(home, shell):
    said = table(home)
    questions = [("atsctl", ""), ("atsctl", "--")] + [
        ("atsctl", name, begun) for name in said for begun in ("", "--")]
    answers = shell(home, questions)
    ats.equal(len(answers), len(questions))
    got = dict(zip(questions, answers))
    ats.equal(set(said) - got["atsctl", ""], set())
    ats.equal(GLOBAL - got["atsctl", "--"], set())
    for name, (words, options) in said.items():
        ats.equal((options | {"--json", "--help"}) - got["atsctl", name, "--"], set(), name)
        ats.equal(words - got["atsctl", name, ""], set(), name)
        others = {o for n, (_, more) in said.items() for o in more} - options - GLOBAL
        ats.equal(got["atsctl", name, "--"] & others, set(), name)


@ats.test("bash offers all of it, and nothing of another command")
def _(home):
    offers(home, bash)


@ats.test("so does zsh")
def _(home):
    if not shutil.which("zsh"):
        ats.skip("no zsh")
    offers(home, zsh)


@ats.test("so does fish")
def _(home):
    if not shutil.which("fish"):
        ats.skip("no fish")
    offers(home, fish)


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
