# SPDX-License-Identifier: Apache-2.0
"""It stays a good place to build software in."""
from contain.base import usable


def repository(c):
    c.host("git", "init", "-q", ".")
    c.host("git", "config", "user.email", "a@example.org")
    c.host("git", "config", "user.name", "a")


usable("use-files", "files are made, renamed, run and removed",
       "echo 'echo hi' > a && chmod +x a && mv a b && [ \"$(bash ./b)\" = hi ] && mkdir -p d/e && "
       "ln -s ../b d/l && ln b d/h && cat d/l && rm -r b d && [ ! -e b ] && echo usable",
       quick=True)
usable("use-processes", "60 processes, pipes, substitutions",
       "for i in $(seq 60); do (sleep 0.2) & done; wait; "
       "[ \"$(seq 1000 | sort -n | tail -1)\" = 1000 ] && cat <(echo a) && echo usable")
usable("use-devices", "devices, standard streams, temporary files",
       "[ $(head -c 8 /dev/urandom | wc -c) = 8 ] && echo x > /dev/null && "
       "[ $(head -c 3 /dev/zero | wc -c) = 3 ] && t=$(mktemp) && echo y > \"$t\" && "
       "[ $(cat \"$t\") = y ] && echo z > /dev/stdout && echo usable")
usable("use-git", "git adds, commits, branches and shows",
       "command -v git >/dev/null || { say absent 'no git'; exit; }; echo a > f && git add f && "
       "git commit -q -m one && git checkout -q -b two && echo b > f && git commit -q -a -m two && "
       "git log --oneline | grep -q two && [ -z \"$(git status --porcelain f)\" ] && echo usable",
       setup=repository)
usable("use-python", "Python with processes, threads, pairs of sockets, temporary files",
       "command -v python3 >/dev/null || { say absent 'no python3'; exit; }; python3 -c '\n"
       "import socket, subprocess, tempfile, threading\n"
       "a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"\n"
       "subprocess.check_call([\"true\"]); tempfile.TemporaryFile()\n"
       "t = [threading.Thread(target=int) for _ in range(20)]\n"
       "[x.start() for x in t]; [x.join() for x in t]; print(\"usable\")'")
usable("use-node", "node with a child and a worker",
       "command -v node >/dev/null || { say absent 'no node'; exit; }; node -e '"
       "const r = require(\"child_process\").spawnSync(\"echo\", [\"k\"]);"
       "if (String(r.stdout).trim() != \"k\") process.exit(1);"
       "const { Worker } = require(\"worker_threads\");"
       "new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(1)\", { eval: true })"
       ".on(\"message\", () => console.log(\"usable\"))'")
usable("use-loopback", "a server and a client of one call meet on 127.0.0.1", "try own_loopback")
usable("use-socket", "and at a socket in the workspace", "try own_socket")
usable("use-compiler", "a program is compiled and run",
       "command -v cc >/dev/null || { say absent 'no cc'; exit; }; "
       "echo 'int main(void) { return 7; }' > t.c && cc t.c -o t; ./t; [ $? = 7 ] && echo usable")
usable("use-debugger", "own processes are signalled and traced", "try debug_own")
