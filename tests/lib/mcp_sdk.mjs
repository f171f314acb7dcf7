// SPDX-License-Identifier: Apache-2.0
// The official MCP client on a leash: one JSON command a line on stdin, one answer a line on
// stdout. node mcp_sdk.mjs FOLDER_WITH_NODE_MODULES. tests/system/0400-mcp-sdk.py drives it.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.argv[2] + '/x.js');
const load = (name) => import(pathToFileURL(require.resolve('@modelcontextprotocol/sdk/' + name)));
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');

const say = (o) => process.stdout.write(JSON.stringify(o) + '\n');
const aborts = new Map();
let client, transport;

// The client asks for its newest revision; an older client is one that asks for another.
function asRevision(t, version) {
	const send = t.send.bind(t);
	t.send = (m, o) => {
		if (m.method === 'initialize')
			m = { ...m, params: { ...m.params, protocolVersion: version } };
		return send(m, o);
	};
	return t;
}

const ops = {
	async connect({ command, args, env, cwd, version }) {
		client = new Client({ name: 'sdk-test', version: '1' }, { capabilities: {} });
		transport = new StdioClientTransport({ command, args, env, cwd, stderr: 'pipe' });
		if (version)
			asRevision(transport, version);
		client.onclose = () => say({ event: 'close' });
		client.onerror = (e) => say({ event: 'error', text: String(e) });
		await client.connect(transport);
		return { pid: transport.pid, server: client.getServerVersion(),
			capabilities: client.getServerCapabilities(),
			instructions: client.getInstructions(),
			version: transport._protocolVersion ?? client._negotiatedProtocolVersion };
	},
	list: () => client.listTools(),
	ping: () => client.ping(),
	async call({ tag, name, args, progress, timeout }) {
		const abort = new AbortController();
		aborts.set(tag, abort);
		const o = { signal: abort.signal, timeout: timeout ?? 60000 };
		if (progress)
			o.onprogress = (p) => say({ event: 'progress', tag, progress: p });
		try {
			return await client.callTool({ name, arguments: args }, undefined, o);
		} finally {
			aborts.delete(tag);
		}
	},
	cancel({ of }) {
		aborts.get(of)?.abort('the user asked');
		return {};
	},
	request: ({ method, params }) =>
		client.request({ method, params }, { parse: (x) => x, safeParse: (x) => ({ success: true,
			data: x }) }),
	async close() {
		await client.close();
		return {};
	},
};

for await (const line of createInterface({ input: process.stdin })) {
	const m = JSON.parse(line);
	Promise.resolve().then(() => ops[m.op](m)).then(
		(result) => say({ tag: m.tag, result }),
		(e) => say({ tag: m.tag, error: { code: e.code, message: String(e.message) } }));
}
process.exit(0);
