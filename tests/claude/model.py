# SPDX-License-Identifier: Apache-2.0
"""A stand-in of the API that Claude Code talks to, on loopback: the test is the model.

Each request of the conversation waits until the test says what the model answers; what the
CLI asks besides (titles, counts of tokens) is answered at once.

    ask = model.request()                       # what the model is sent
    ask.use(("mcp__ats__Bash", {"command": "id"}))
    ask = model.request()                       # the next one has the result
    ask.result(0)                               # -> Result: text, is_error, blocks
    ask.say("done")                             # ends the turn
"""
import http.server
import itertools
import json
import queue
import threading

import ats

WAIT = 60.0


class Result:
    """One tool_result block, as it stood in a request."""

    def __init__(self, block):
        self.block = block
        content = block.get("content", "")
        self.blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        self.text = "\n".join(b["text"] for b in self.blocks if b["type"] == "text")
        self.is_error = bool(block.get("is_error"))


class Request:
    """A request of the conversation that waits for its answer."""

    numbers = itertools.count(1)

    def __init__(self, model, body):
        self.model, self.body = model, body
        self.tools = {t["name"]: t for t in body["tools"]}
        self.ready = threading.Event()
        self.content = None
        self.number = next(Request.numbers)

    def use(self, *calls):
        """The model calls tools: (name, input)..., all in one message. Returns their ids."""
        ids = ["toolu_%06d_%d" % (self.number, i) for i in range(len(calls))]
        self.model.used = ids
        self.answer([{"type": "tool_use", "id": id, "name": name, "input": input}
                     for id, (name, input) in zip(ids, calls, strict=True)])
        return ids

    def say(self, text):
        """The model says something, which ends its turn."""
        self.answer([{"type": "text", "text": text}])

    def answer(self, content):
        self.content = content
        self.ready.set()

    def results(self):
        """id -> Result: all that is in the last user messages, those after the last answer."""
        found = {}
        for m in self.body["messages"]:
            if m["role"] == "assistant":
                found = {}
            elif isinstance(m["content"], list):
                found.update({b["tool_use_id"]: Result(b) for b in m["content"]
                              if b["type"] == "tool_result"})
        return found

    def result(self, n=0):
        """Of the calls of the last use() the n-th one's."""
        found = self.results()
        ats.check(self.model.used[n] in found, found)
        return found[self.model.used[n]]

    def last_texts(self):
        """What the last user messages say besides results."""
        out = []
        for m in self.body["messages"]:
            if m["role"] == "assistant":
                out = []
            elif isinstance(m["content"], str):
                out.append(m["content"])
            else:
                out += [b["text"] for b in m["content"] if b["type"] == "text"]
        return "\n".join(out)


class Model:
    """Listens until close(); key is what the CLI must send."""

    def __init__(self, key):
        self.key, self.waiting, self.used = key, queue.Queue(), []
        self.wrong, self.others = [], []
        self.closed = False

        class Handler(_Handler):
            model = self
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def request(self, timeout=WAIT):
        """The next request of the conversation."""
        try:
            return self.waiting.get(timeout=timeout)
        except queue.Empty:
            raise ats.Failure("the model is not asked; others: %r" % self.others) from None

    def close(self):
        self.closed = True
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        while not self.waiting.empty():
            self.waiting.get().ready.set()
        ats.equal(self.wrong, [], "what the stand-in of the API did not like")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *args):
        pass

    def json(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_HEAD(self):
        self.json(200, {})

    def do_GET(self):
        self.model.others.append("GET " + self.path)
        self.json(404, {"type": "error", "error": {"type": "not_found_error", "message": "no"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self.json(200, {"input_tokens": 100})
        elif path != "/v1/messages":
            self.model.others.append("POST " + self.path)
            self.json(404, {"type": "error",
                            "error": {"type": "not_found_error", "message": "no"}})
        else:
            if self.headers["X-Api-Key"] != self.model.key:
                self.model.wrong.append("key %r" % self.headers["X-Api-Key"])
            self.give(body, self.content(body))

    def content(self, body):
        if not body.get("tools"):
            self.model.others.append("a question without tools")
            return [{"type": "text", "text": "ok"}]
        request = Request(self.model, body)
        self.model.waiting.put(request)
        while not request.ready.wait(0.5):
            if self.model.closed:
                break
        return request.content or [{"type": "text", "text": "the end"}]

    def give(self, body, content):
        uses = any(b["type"] == "tool_use" for b in content)
        message = {"id": "msg_%d" % next(Request.numbers), "type": "message", "role": "assistant",
                   "model": body["model"], "content": content, "stop_sequence": None,
                   "stop_reason": "tool_use" if uses else "end_turn",
                   "usage": {"input_tokens": 100, "output_tokens": 20,
                             "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
        try:
            if body.get("stream"):
                self.stream(message)
            else:
                self.json(200, message)
        except (BrokenPipeError, ConnectionResetError):
            pass            # the CLI gave it up

    def stream(self, message):
        """As server-sent events; the connection's end is theirs."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        start = {**message, "content": [], "stop_reason": None}
        self.event("message_start", message=start)
        for i, block in enumerate(message["content"]):
            if block["type"] == "text":
                first, delta = {"type": "text", "text": ""}, {"type": "text_delta",
                                                              "text": block["text"]}
            else:
                first, delta = {**block, "input": {}}, {
                    "type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self.event("content_block_start", index=i, content_block=first)
            self.event("content_block_delta", index=i, delta=delta)
            self.event("content_block_stop", index=i)
        self.event("message_delta", delta={"stop_reason": message["stop_reason"],
                                           "stop_sequence": None}, usage={"output_tokens": 20})
        self.event("message_stop")

    def event(self, kind, **fields):
        text = "event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **fields}))
        self.wfile.write(text.encode())
        self.wfile.flush()
