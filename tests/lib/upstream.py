# SPDX-License-Identifier: Apache-2.0
"""Servers of the tests that want a password: what a gateway tool reaches for."""
import base64
import http.server
import json
import os
import subprocess
import threading
import urllib.parse


class Upstream:
    """An HTTP server on loopback that wants USER and PASSWORD (basic) or PASSWORD as bearer.

    /echo (any method) gives back what came as JSON; /git/... is git http-backend over root;
    /leak gives the Authorization header back; asked is a list of (method, path, body)."""

    def __init__(self, password, user="agent", root=None):
        self.password, self.user, self.root = password, user, root
        self.asked = []
        self.refused = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, status, body, kind="application/json", headers=()):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for k, v in headers:
                    self.send_header(k, v)
                self.end_headers()
                self.wfile.write(body)

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                auth = self.headers.get("Authorization", "")
                basic = base64.b64encode(b"%s:%s" % (outer.user.encode(),
                                                     outer.password.encode())).decode()
                if auth not in ("Basic " + basic, "Bearer " + outer.password):
                    outer.refused += 1
                    self.reply(401, b"who are you?", "text/plain",
                               [("WWW-Authenticate", "Basic realm=test")])
                    return
                url = urllib.parse.urlsplit(self.path)
                outer.asked.append((self.command, self.path, body))
                if url.path.startswith("/git/") and outer.root:
                    self.git(url, body)
                elif url.path == "/leak":
                    self.reply(200, json.dumps({"authorization": auth,
                                                "raw": outer.password}).encode())
                else:
                    self.reply(200, json.dumps({
                        "method": self.command, "path": url.path, "query": url.query,
                        "body": body.decode("utf-8", "replace")}).encode())

            def git(self, url, body):
                env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": outer.root,
                       "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": url.path[4:],
                       "QUERY_STRING": url.query, "REQUEST_METHOD": self.command,
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                       "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                       "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                       "GIT_CONFIG_VALUE_0": "*"}
                out = subprocess.run(["git", "http-backend"], input=body, env=env,
                                     stdout=subprocess.PIPE, check=True).stdout
                head, _, rest = out.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                status = int(fields.pop("Status", "200").split()[0])
                fields.pop("Content-Length", None)
                self.reply(status, rest, fields.pop("Content-Type", "text/plain"),
                           fields.items())

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
