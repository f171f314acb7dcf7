// SPDX-License-Identifier: Apache-2.0
// The npm package ws as a peer of wirepeer: ws_peer.mjs FOLDER serve [CERT KEY]
// prints its port and echoes; ws_peer.mjs FOLDER connect URL SIZE... sends frames and checks
// their echoes. Both send in fragments with a ping between, and check that a message is a frame.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { createServer as createSecure } from "node:https";
import { readFileSync } from "node:fs";

const [folder, mode, ...rest] = process.argv.slice(2);
const { WebSocket, WebSocketServer } = createRequire(folder + "/x.js")("ws");

function whole(data, binary) {
	if (!binary || data.readUInt32BE(0) !== data.length)
		throw new Error(`a message of ${data.length} bytes is not a frame`);
}

function inFragments(ws, data, n) {
	const cut = [0, ...[3, 20, data.length >> 1].slice(0, n).filter((c) => c <= data.length)]
		.sort((a, b) => a - b);
	cut.forEach((from, i) => {
		const last = i === cut.length - 1;
		const part = data.subarray(from, last ? data.length : cut[i + 1]);
		ws.send(part, { fin: last, binary: true });
		ws.ping("between");
	});
}

if (mode === "serve") {
	const server = rest.length === 2 ?
		createSecure({ cert: readFileSync(rest[0]), key: readFileSync(rest[1]) }) :
		createServer();
	const wss = new WebSocketServer({ server, path: "/link", maxPayload: 32 << 20 });
	let n = 0;
	wss.on("connection", (ws) => {
		ws.on("message", (data, binary) => {
			whole(data, binary);
			inFragments(ws, data, n++ % 4);
		});
		ws.on("close", (code) => console.log(`close ${code}`));
		ws.on("error", (e) => console.log(`error ${e.message}`));
	});
	server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
} else {
	const ws = new WebSocket(rest[0], { rejectUnauthorized: false, maxPayload: 32 << 20 });
	const sizes = rest.slice(1).map(Number);
	let n = 0, pongs = 0, sent;
	const next = () => {
		if (n === sizes.length)
			return ws.ping("last");
		sent = Buffer.alloc(sizes[n], 97 + n);
		sent.fill(0, 0, 20);
		sent.writeUInt32BE(sent.length, 0);
		sent[4] = 4;
		sent[5] = 1;
		inFragments(ws, sent, n++ % 4);
	};
	ws.on("open", next);
	ws.on("pong", (data) => {
		pongs++;
		if (String(data) !== "last")
			return;
		console.log(`echoed ${n} frames, pongs ${pongs > 1}`);
		ws.close(1000);
	});
	ws.on("message", (data, binary) => {
		whole(data, binary);
		if (!data.equals(sent))
			throw new Error("another frame came back");
		next();
	});
	ws.on("close", (code) => console.log(`close ${code}`));
	ws.on("error", (e) => console.log(`error ${e.message}`));
}
