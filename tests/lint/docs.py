#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents name is there: links, files, targets of make, commands and options, keys of the
configuration with their defaults, variables of the environment, manuals, the protocol's number; and
the version is one. Prints a line for each thing that is not so; for 23-docs.sh, from the top of the
tree, after make."""
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
PROGRAMS = {"ats-brain": 8, "ats-engine": 8, "ats-gateway": 8, "ats-hands": 8, "ats-http": 8}
# Pages that are made of the tables are compared with these by 31-generated.sh.
PAGES = ["README.md", "CONTRIBUTING.md", "packaging/npm/README.md", *sorted(glob.glob("docs/*.md"))]
MANUALS = sorted(glob.glob("docs/man/*.[1-8]"))
SOURCES = ("common", "proto", "brain", "hands", "packaging", "tests", ".ci")
# Of files whose folder a document does not say.
NAMES = {f for top in SOURCES for _, _, files in os.walk(top) for f in files}
# Words that documents take for a name of the reader's.
PLACEHOLDER = re.compile(r"NN|NAME|VERSION|\bX\.Y|[<>{}]|FILE\b|\.\.\.")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def complain(page, offset, what):
    print("%s:%d: %s" % (page, read(page).count("\n", 0, offset) + 1, what))


def code_of(text):
    """(offset, language, text) of each block of code: fenced, indented, or of a manual."""
    for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M):
        yield m.start(2), m.group(1), m.group(2)
    for m in re.finditer(r"^\.Bd -literal.*\n((?s:.*?))^\.Ed$", text, re.M):
        code = m.group(1).replace("\\-", "-").replace("\\e", "\\").replace("\\(dq", '"')
        yield m.start(1), "json" if code.startswith("{") else "", code
    text = re.sub(r"^```.*?^```$", lambda f: re.sub(r"[^\n]", "x", f.group()), text,
                  flags=re.S | re.M)
    for m in re.finditer(r"(?:^    .*\n)+", text, re.M):
        yield m.start(), "", m.group()


def inline(text):
    """(offset, text) of what stands in backquotes, outside of blocks."""
    text = re.sub(r"^```.*?^```$", lambda f: re.sub(r"[^\n]", " ", f.group()), text,
                  flags=re.S | re.M)
    for m in re.finditer(r"`([^`]+)`", text):
        yield m.start(), " ".join(m.group(1).split())


# ---- links and files ------------------------------------------------------------------------


def anchors(path):
    for title in re.findall(r"^#+ (.*)$", read(path), re.M):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def check_links(page, text):
    for m in re.finditer(r"\]\(([^)\s]+)\)", text):
        where, _, anchor = m.group(1).partition("#")
        if re.match(r"[a-z]+:", where):
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page), where)) if where else page
        if not os.path.exists(path):
            complain(page, m.start(), "no file " + m.group(1))
        elif anchor and anchor not in anchors(path):
            complain(page, m.start(), "no section " + m.group(1))


def check_files(page, text):
    top = re.compile(r"(?:%s|docs)/[\w.*?/-]+" % "|".join(map(re.escape, SOURCES)))
    source = re.compile(r"[\w*-]+\.(?:c|h|def|py|tsv|mut|mk)")
    for at, word in inline(text):
        parts = [p.rstrip(".;:") for p in word.replace(",", " ").split()]
        # In a command a name without a folder is the reader's.
        alone = all(map(source.fullmatch, parts))
        for part in parts:
            if PLACEHOLDER.search(part):
                continue
            if (top.fullmatch(part) and not glob.glob(part)) or (
                    alone and not fnmatch.filter(NAMES, part)):
                complain(page, at, "no file " + part)


# ---- make -----------------------------------------------------------------------------------


def targets():
    text = "".join(read(f) for f in ("Makefile", *glob.glob("tests/*.mk"), *glob.glob("tests/*/*.mk")))
    text = text.replace("\\\n", " ")
    for names in re.findall(r"^([\w$()./% -]+):(?!=)", text, re.M):
        yield from names.split()
    yield from re.findall(r"^\.PHONY:(.*)$", text, re.M)[0].split()


def check_make(page, text, known):
    spots = [*inline(text), *((at, code) for at, _, code in code_of(text))]
    for at, code in spots:
        for m in re.finditer(r"(?:^|[;(]|&& |: |sudo )\s*make ([^#;&|)\n]*)", code, re.M):
            for word in re.split(r"\s{2,}", m.group(1))[0].split():
                if re.fullmatch(r"[a-z][a-z-]*", word) and word not in known:
                    complain(page, at + m.start(), "no target of make: " + word)


def check_help(known):
    """make help and the list in docs/TESTING.md have each target that is for people."""
    for where, text in (("make help", subprocess.run(
            ["make", "-s", "help"], stdout=subprocess.PIPE, text=True, check=False).stdout),
                        ("docs/TESTING.md", read("docs/TESTING.md").split("`sh packaging/check`")[0])):
        for target in sorted(known):
            if re.fullmatch(r"check[a-z-]*|fuzz-[a-z]+|lint|bench", target) and not re.search(
                    r"(?<![\w-])%s(?![\w-])" % target, text):
                print("%s: has no %s" % (where, target))


# ---- commands -------------------------------------------------------------------------------


def commands():
    """By name: the words and options of the usage line in docs/gen/commands.md."""
    for m in re.finditer(r"^\| `(\w+)([^`]*)` \|", read("docs/gen/commands.md"), re.M):
        usage = m.group(2).replace("\\|", "|")
        fixed = re.match(r" ([a-z|]+)( |$)", usage)
        yield m.group(1), (set(re.findall(r"--[a-z-]+", usage)),
                           fixed.group(1).split("|") if fixed else [])


def check_atsctl(page, at, words, known):
    every = {"--socket", "--json", "--no-start", "--help", "--version"}
    while words and words[0].startswith("--"):
        if words[0] not in every:
            return complain(page, at, "atsctl has no option " + words[0])
        words = words[2 if words[0] == "--socket" else 1:]
    if not words or not re.fullmatch(r"[a-z]+", words[0]) or words[0] == "help":
        return None
    if words[0] not in known:
        return complain(page, at, "no command atsctl " + words[0])
    options, fixed = known[words[0]]
    if fixed and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]) and words[1] not in fixed:
        complain(page, at, "no command atsctl %s %s" % tuple(words[:2]))
    for word in words[1:words.index("--") if "--" in words else None]:
        word = word.split("=")[0]
        if re.fullmatch(r"--[a-z-]+", word) and word not in options | every:
            complain(page, at, "atsctl %s has no option %s" % (words[0], word))
    return None


def flags(program):
    """Those of its --help; ats-hands' subcommands are in it."""
    r = subprocess.run([os.path.join(BUILD, program), "--help"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    return set(re.findall(r"--[a-z]+(?:-[a-z]+)*", r.stdout)) | {"--help", "--version"}


def invocations(text):
    """(offset, program, words) of what is to be typed."""
    spots = [*inline(text), *((at, code) for at, _, code in code_of(text))]
    for at, code in spots:
        code = re.sub(r"\\\n|\\ (?= )", " ", code)
        for m in re.finditer(r"(?:^|[\s(/`])(atsctl|ats-[a-z]+) +([^#|;&)\n]*)", code):
            yield at + m.start(), m.group(1), m.group(2).split()


def check_typed(page, text):
    """What explains a command stands behind a #: the line is typed, or copied, as it is."""
    program = r"(?:[A-Z_]+=\S+ +)*(?:atsctl|ats-[a-z]+|make|kubectl|sudo|systemctl|python3|tests/\S+) "
    for at, language, code in code_of(text):
        if language in ("", "sh"):
            for m in re.finditer(r"^ *%s[^\n#]*?[^\s\\#] {2,}[^#\s\\]" % program, code, re.M):
                complain(page, at + m.start(), "no # before what is said of the command")


def check_commands(page, text, known, options):
    for at, program, words in invocations(text):
        if program == "atsctl":
            check_atsctl(page, at, words, known)
        elif program in options:
            for word in words[:words.index("--") if "--" in words else None]:
                word = word.split("=")[0].rstrip(",.:")
                if re.fullmatch(r"--[a-z-]+", word) and word not in options[program]:
                    complain(page, at, "%s has no option %s" % (program, word))


def check_manual(options):
    """Options of a program's manual are those of its help, and the other way round; of atsctl the
    tests see to it (0303-completion.py)."""
    for program, section in PROGRAMS.items():
        page = "docs/man/%s.%d" % (program, section)
        text = read(page).replace("\\-", "-")
        told = set(re.findall(r"Fl -([a-z]+(?:-[a-z]+)*)", text)) | {"help", "version"}
        for word in sorted(options[program]):
            if word[2:] not in told:
                print("%s: %s of --help is not there" % (page, word))
        for word in sorted(re.findall(r"^\.(?:It|Op) Fl -([a-z]+(?:-[a-z]+)*)", text, re.M)):
            if "--" + word not in options[program]:
                print("%s: --help has no --%s" % (page, word))


# ---- configuration --------------------------------------------------------------------------


def keys():
    """By name: the default."""
    return {k: v.strip("`") for k, v in re.findall(
        r"^\| `([a-z_.]+)` \| [^|]* \| ([^|]*) \|", read("docs/gen/config.md"), re.M)}


def check_keys(page, text, known):
    tops = {k.split(".")[0] for k in known if "." in k}
    events = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", read("docs/gen/events.md")))
    for m in re.finditer(r"(?:`|^\.(?:Cm|Va|Ic|It Cm|Ql) )((?:%s)\.[a-z_]+)(?:`| |$)(?:\s?\(([\d,]+)"
                         r"(?: (MiB|KiB))?\))?" % "|".join(tops), text, re.M):
        key, value, unit = m.groups()
        if key not in known and key not in events:
            complain(page, m.start(), "no key %s of brain.json" % key)
        elif value and known.get(key, "").isdigit():
            factor = {"MiB": 1 << 20, "KiB": 1 << 10, None: 1}[unit]
            if int(value.replace(",", "")) * factor != int(known[key]):
                complain(page, m.start(), "%s is %s if nothing is said" % (key, known[key]))


def config_check(text):
    """What atsctl config check says of it, "" where it is right."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([os.path.join(BUILD, "atsctl"), "config", "check", f.name],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return r.stderr.split(".json: ")[-1].strip() if r.returncode != 0 else ""


def check_types():
    """What a key may be is in the table as it is in the error for what it may not be."""
    for key, kind in re.findall(r"^\| `([a-z_.]+)` \| ([^|]*) \|", read("docs/gen/config.md"), re.M):
        top = None
        for part in reversed(key.split(".")):
            top = {part: top}
        kind = re.sub(r"^integer, (\d+) to", r"whole number from \1 to", kind)
        if not re.search(r'"%s" must be (an? )?%s( without NUL)? \(' % (re.escape(key), kind),
                         config_check(json.dumps(top))):
            print("docs/gen/config.md: %s is said to be %s; atsctl config check: %s" % (
                key, kind, config_check(json.dumps(top))))


def check_examples(page, text, known):
    """Examples of brain.json are right, as far as atsctl config check can tell without the files."""
    tops = {k.split(".")[0] for k in known}
    for at, language, code in code_of(text):
        code = code.strip()
        if language == "jsonc" and code.startswith('"'):
            code = "{" + code + "}"
        if language not in ("json", "jsonc") or not code.startswith("{"):
            continue
        try:
            top = json.loads(re.sub(r"^\s*//.*$", "", code, flags=re.M))
        except ValueError as e:
            # Several lines of JSON, as a protocol has them, are none of brain's.
            if "\n{" not in code:
                complain(page, at, "not JSON: %s" % e)
            continue
        if not top or set(top) - tops:
            continue
        # Rules may be about the gateway of another example.
        rules = [r for v in top.get("permissions", {}).values() if isinstance(v, list) for r in v]
        if "gateways" not in top and any("github__" in r for r in rules):
            top["gateways"] = {"github": {"kind": "http", "url": "https://api.github.com", "tools": {
                r.partition("__")[2].replace("*", "x"): {"description": "d", "method": "GET", "path": "/"}
                for r in rules if "github__" in r}}}
            code = json.dumps(top)
        why = config_check(code)
        if why and "No such file" not in why:
            complain(page, at, "an example that is refused: " + why)


# ---- environment, protocol ------------------------------------------------------------------


def said_in_code():
    said = set()
    for top in (*SOURCES, "Makefile"):
        for path in [top] if os.path.isfile(top) else [
                os.path.join(d, f) for d, _, files in os.walk(top) for f in files]:
            if not path.endswith((".md", ".pyc")) and "/corpus/" not in path:
                with open(path, encoding="utf-8", errors="replace") as f:
                    said.update(re.findall(r"(?:ATS|REMOTE_TOOLS)_[A-Z0-9_]+", f.read()))
    return said


def check_environment(page, text, known):
    for m in re.finditer(r"(?<![A-Za-z0-9_])(?:ATS|REMOTE_TOOLS)_[A-Z0-9_]+(?![A-Za-z0-9_*<])", text):
        # Each flag of ats-hands is read from a variable, too, and clients of C name our values.
        if m.group() not in known and not m.group().startswith("ATS_HANDS_"):
            complain(page, m.start(), "nothing reads " + m.group())


def check_references():
    """A manual that another one names is there, and each is named by another."""
    named = {}
    for page in MANUALS:
        for m in re.finditer(r"^\.Xr (\S+) (\d)", read(page), re.M):
            name = "%s.%s" % m.groups()
            named.setdefault(name, set()).add(page)
            if re.match(r"ats|libats|brain", name) and "docs/man/" + name not in MANUALS:
                complain(page, m.start(), "no manual " + name)
    for page in MANUALS:
        if not named.get(os.path.basename(page), set()) - {page}:
            print("%s: no other manual names it" % page)


def check_version():
    version = re.search(r"^VERSION := (.*)$", read("Makefile"), re.M).group(1)
    for pattern, path in ((r"\A\S+ \(([^)]*)\)", "packaging/debian/changelog"),
                          (r'"version": "([^"]*)"', "packaging/npm/package.json"),
                          (r"/libats\.so\.(\d+\.[\d.]*)$", "packaging/manifest"),
                          (r"\A# Changelog\s+## ([\d.]*)", "CHANGELOG.md"),
                          *((r'"image": "[^"]*/ats-hands:([^"]*)"', p)
                            for p in sorted(glob.glob("packaging/kubernetes/*template.json")))):
        found = list(re.finditer(pattern, read(path), re.M))
        if not found:
            print("%s: has no version" % path)
        for m in found:
            # Between releases the changelog may begin with a section that has none yet.
            if m.group(1) not in (version, ""):
                complain(path, m.start(), "has version %s, the Makefile %s" % (m.group(1), version))


def check_pins():
    pinned = re.search(r'^PINNED = "([^"]*)"', read("tests/lib/claude.py"), re.M).group(1)
    if not re.search(r"it pins \(%s\)" % re.escape(pinned), read("docs/CLAUDE-CODE.md")):
        print("docs/CLAUDE-CODE.md: does not say that the version is " + pinned)


def check_protocol():
    number = re.search(r"#define ATS_PROTO_VERSION (\d+)u", read("proto/msg.h")).group(1)
    if not re.search(r"version is %s\b" % number, read("docs/PROTOCOL.md")):
        print("docs/PROTOCOL.md: does not say that the version is " + number)


def main():
    if not os.path.exists(os.path.join(BUILD, "atsctl")):
        sys.exit("no %s/atsctl: run make lint" % BUILD)
    known, make, ctl, said = keys(), set(targets()), dict(commands()), said_in_code()
    options = {p: flags(p) for p in PROGRAMS}
    for page in PAGES:
        text = read(page)
        check_links(page, text)
        check_files(page, text)
        check_make(page, text, make)
        check_typed(page, text)
    for page in [*PAGES, *MANUALS]:
        text = read(page)
        check_commands(page, text, ctl, options)
        check_examples(page, text, known)
        check_keys(page, text, known)
        check_environment(page, text, said)
    check_help(make)
    check_types()
    check_manual(options)
    check_references()
    check_version()
    check_pins()
    check_protocol()


if __name__ == "__main__":
    main()
