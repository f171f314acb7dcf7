// SPDX-License-Identifier: Apache-2.0
// The official MCP client of the second generation, which speaks 2026-07-28, on a leash: one JSON
// command a line on stdin, one answer a line on stdout. node mcp_sdk2.mjs FOLDER_WITH_NODE_MODULES.
// tests/system/0401-mcp-sdk-modern.py drives it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const home = join(process.argv[2], 'node_modules/@modelcontextprotocol/client');
const { exports } = JSON.parse(readFileSync(join(home, 'package.json')));
const load = (name) => import(pathToFileURL(join(home, exports[name].import.default)));
const { Client } = await load('.');
const { StdioClientTransport } = await load('./stdio');

const say = (o) => process.stdout.write(JSON.stringify(o) + '\n');
const aborts = new Map(), asked = [], subscriptions = new Map();
let client, transport;

const ops = {
	// mode: "auto", "legacy" or { pin }; forms: the client shows dialogs, which "reply" answers
	async connect({ command, args, env, cwd, mode, forms }) {
		client = new Client({ name: 'sdk2-test', version: '1' }, {
			capabilities: forms ? { elicitation: { form: {} } } : {},
			versionNegotiation: { mode },
		});
		transport = new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' });
		client.onclose = () => say({ event: 'close' });
		client.onerror = (e) => say({ event: 'error', text: String(e) });
		client.setNotificationHandler('notifications/tools/list_changed',
			() => say({ event: 'list_changed' }));
		if (forms)
			client.setRequestHandler('elicitation/create', (r) => new Promise((done) => {
				asked.push(done);
				say({ event: 'asked', params: r.params });
			}));
		await client.connect(transport);
		return { pid: transport.pid, era: client.getProtocolEra(),
			version: client.getNegotiatedProtocolVersion(),
			server: client.getServerVersion(), capabilities: client.getServerCapabilities(),
			instructions: client.getInstructions() };
	},
	list: ({ cacheMode }) => client.listTools(undefined, { cacheMode }),
	discover: () => client.discover(),
	ping: () => client.ping(),
	async call({ tag, name, args, progress }) {
		const abort = new AbortController();
		aborts.set(tag, abort);
		const o = { signal: abort.signal, timeout: 60000 };
		if (progress)
			o.onprogress = (p) => say({ event: 'progress', tag, progress: p });
		try {
			return await client.callTool({ name, arguments: args }, o);
		} finally {
			aborts.delete(tag);
		}
	},
	cancel({ of }) {
		aborts.get(of)?.abort('the user asked');
		return {};
	},
	reply({ result }) {
		asked.shift()(result);
		return {};
	},
	async listen({ name, filter }) {
		const s = await client.listen(filter);
		subscriptions.set(name, s);
		s.closed.then((why) => say({ event: 'ended', name, why }));
		return { honored: s.honoredFilter };
	},
	async unlisten({ name }) {
		await subscriptions.get(name).close();
		return {};
	},
	async close() {
		await client.close();
		return {};
	},
};

for await (const line of createInterface({ input: process.stdin })) {
	const m = JSON.parse(line);
	Promise.resolve().then(() => ops[m.op](m)).then(
		(result) => say({ tag: m.tag, result: result ?? {} }),
		(e) => say({ tag: m.tag, error: { code: e.code, message: String(e.message) } }));
}
process.exit(0);
