// SPDX-License-Identifier: Apache-2.0
//
// The same runtime as runtime.c, in JavaScript: the same lines in and out.
//
// usage: runtime.mjs [WORKSPACE PLAN_DIR ATSCTL [SESSION]]
import fs from 'node:fs';
import readline from 'node:readline';
import { ats_servable, Ctx, isOn, Session } from 'agent-tool-server';

let session;
let ctx;
let last = new AbortController();

function say(kind, name, end, isError, code, text) {
  process.stdout.write(`${kind} ${name} end=${end} error=${isError ? 1 : 0} code=${code || '-'} ` +
    `cwd=${ctx?.cwd ?? '-'} ${text.replace(/[\\\n]/g, (c) => (c === '\n' ? '\\n' : '\\\\'))}\n`);
}

// First place: is the call ours? With REMOTE_TOOLS_URL unset this is one branch, not taken.
async function dispatch(kind, name, json) {
  if (!(kind === 'hook' ? isOn() : ats_servable(name))) {
    say(kind, name, 'native', false, '', '');
    return;
  }
  let input;
  try {
    input = JSON.parse(json);
    if (kind !== 'hook' && ctx.isPlan(name, input)) {
      say(kind, name, 'native', false, '', '');
      return;
    }
    // Second place: instead of the native tool, or hook, the call is forwarded.
    last = new AbortController();
    const more = { signal: last.signal, ...(kind === 'hook' ? {} : { ctx: ctx.in(name, input) }) };
    answered(kind, name, input, await session[kind](name, input, more));
  } catch (e) {
    say(kind, name, 'not_started', true, 'refused', '');
    process.stderr.write(`runtime: ${e.message}\n`);
  }
}

// Third place: the answer. The ctx takes what the call has changed, then the model hears it.
function answered(kind, name, input, answer) {
  if (answer.ctxDelta !== undefined) {
    try {
      ctx.apply(name, input, answer.ctxDelta);
    } catch (e) {
      process.stderr.write(`runtime: a delta was refused: ${e.message}\n`);
    }
  }
  say(kind, name, answer.end, answer.isError, answer.code,
    kind === 'hook' && answer.end === 'done' ? JSON.stringify(answer.result) : answer.text);
}

// A plan file, as the native tool opens it.
function readPlan(name) {
  try {
    const fd = ctx.openPlan(name);
    say('plan', name, 'native', false, '', fs.readFileSync(fd, 'utf8'));
    fs.closeSync(fd);
  } catch (e) {
    say('plan', name, 'refused', true, e.code === 'plan' ? 'plan' : '', '');
  }
}

const running = new Set();
const [workspace, planDir, atsctl, name] = process.argv.slice(2);
try {
  if (isOn()) {
    session = await Session.open({ workspace, atsctl, session: name });
    ctx = new Ctx(session.workspace, planDir);
  }
} catch (e) {
  process.stderr.write(`runtime: ${e.message}\n`);
  process.exit(1);
}
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [, kind, tool, json] = /^(\S+)(?: (\S+))?(?: (.*))?$/s.exec(line) ?? [];
  if (kind === 'cancel')
    last.abort();
  else if (kind === 'plan')
    readPlan(tool);
  else if (json !== undefined) {
    const p = dispatch(kind, tool, json).finally(() => running.delete(p));
    running.add(p);
  }
}
await Promise.all(running);
session?.close();
