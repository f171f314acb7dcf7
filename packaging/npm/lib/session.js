// SPDX-License-Identifier: Apache-2.0
//
// A session with brain: opened, and opened again after a loss; calls are sent again under the same
// id, and answered once.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { readAnswer } from './answer.js';
import { AtsError } from './error.js';
import { isObject, member, parse, text } from './json.js';
import { closeSession, openSession } from './opener.js';
import { limits } from './table.js';

const LOSSES_MAX = 4;
const METHODS = { tool: 'ats/tool.call', validate: 'ats/tool.validate', hook: 'ats/hook.run' };

function optional(options, name) {
  const v = options[name];
  if (v !== undefined && (typeof v !== 'string' || v === '' || v.includes('\0')))
    throw new AtsError('arg', name + ': expected text');
  return v;
}

function readOptions(o) {
  const url = optional(o, 'url') ?? process.env.REMOTE_TOOLS_URL ?? '';
  const session = optional(o, 'session');
  if (url === '')
    throw new AtsError('arg', 'REMOTE_TOOLS_URL is not set');
  if (session?.startsWith('-') || Buffer.byteLength(session ?? '') > limits.name_bytes)
    throw new AtsError('arg', 'session: not a name');
  return { url, session, socket: optional(o, 'socket'), atsctl: optional(o, 'atsctl'),
    noStart: o.noStart === true,
    workspace: path.resolve(optional(o, 'workspace') ?? process.cwd()) };
}

/** Node does not tell who listens: the socket and its directory must be ours, or root's. */
function checkDoor(door) {
  for (const p of [door, path.dirname(door)]) {
    const st = fs.lstatSync(p);
    if (st.uid !== process.geteuid() && st.uid !== 0)
      throw new AtsError('open', p + ': another user\'s');
    if (p !== door && (!st.isDirectory() || (st.mode & 0o022) !== 0))
      throw new AtsError('open', p + ': others can write there');
  }
}

export class Session {
  #options;
  #ours;
  #id;
  #sandbox;
  #workspace = '';
  #nonce = 'l-' + randomBytes(8).toString('hex');
  #socket;
  #open = false;
  #away = false; // brain left while nothing was asked: the next call opens it again
  #failed; // AtsError
  #calls = new Map(); // in the order they were asked for
  #waiting = 0;
  #next = 1;
  #losses = 0;
  #parts = [];
  #partsLength = 0;
  #first; // what the first two answers are for
  #opened;

  /** A promise of an open session; rejects with an AtsError open or arg. */
  static async open(options = {}) {
    const s = new Session(readOptions(options));
    await s.#opened;
    return s;
  }

  /** Private: use Session.open. */
  constructor(options) {
    this.#options = options;
    this.#ours = options.session === undefined;
    this.#id = options.session;
    this.#opened = this.#begin();
    this.#opened.catch(() => {});
  }

  get id() {
    return this.#id ?? '';
  }

  /** Absolute, as brain resolved it. */
  get workspace() {
    return this.#workspace;
  }

  get pending() {
    return this.#calls.size;
  }

  tool(name, input, more = {}) {
    return this.#ask('tool', name, input, more);
  }

  validate(name, input, more = {}) {
    return this.#ask('validate', name, input, more);
  }

  hook(event, input, more = {}) {
    return this.#ask('hook', event, input, more);
  }

  close() {
    if (this.#failed === undefined && this.#ours && this.#sandbox !== undefined)
      closeSession(this.#options, this.#id);
    this.#fail(new AtsError('open', 'the session was closed'));
  }

  // ---- opening

  async #begin() {
    let timer;
    const late = new Promise((_, failed) => {
      timer = setTimeout(() => failed(new AtsError('open', 'brain does not answer')), limits.open_ms);
    });
    try {
      await Promise.race([late, this.#register()]);
    } catch (e) {
      const error = e instanceof AtsError ? e : new AtsError('open', e.message);
      this.#fail(error);
      throw this.#failed;
    } finally {
      clearTimeout(timer);
    }
  }

  async #register() {
    for (;;) {
      const found = await openSession(this.#options, this.#id);
      if (this.#failed !== undefined)
        throw this.#failed;
      this.#id = found.session;
      this.#sandbox = found.sandbox;
      if (this.#options.socket === undefined)
        checkDoor(found.door);
      if (await this.#connect(found.door))
        break;
      if (++this.#losses > LOSSES_MAX)
        throw new AtsError('open', 'the connection to brain was lost again and again');
    }
    this.#open = true;
    for (const c of this.#calls.values())
      this.#give(c);
    this.#hold();
  }

  /** A promise: false when the door closed before it had answered. */
  #connect(door) {
    return new Promise((done, failed) => {
      const socket = net.connect({ path: door });
      const attach = this.#next++;
      const look = this.#next++;
      this.#socket = socket;
      this.#parts = [];
      this.#partsLength = 0;
      this.#first = (id, message) => {
        try {
          if (id === attach)
            this.#attached(message);
          else if (id === look)
            this.#looked(message);
        } catch (e) {
          failed(e);
          return;
        }
        if (id === look)
          done(true);
      };
      socket.on('data', (part) => this.#take(socket, part));
      socket.on('error', () => {});
      socket.on('close', () => {
        done(false);
        if (this.#socket === socket && this.#open)
          this.#lost();
      });
      this.#request(attach, 'ats/session.attach',
        JSON.stringify({ session: this.#id, client: this.#nonce }));
      this.#request(look, 'ats/inspect', JSON.stringify({ id: this.#sandbox }));
    });
  }

  #attached(message) {
    const workspace = text(member(message, 'result'), 'workspace', 4095);
    if (workspace === undefined)
      throw new AtsError('open', 'session: ' + (text(member(message, 'error'), 'message', 400) ??
          'brain did not attach it'));
    this.#workspace = workspace;
  }

  #looked(message) {
    const url = text(member(message, 'result'), 'url', 4095);
    if (url === undefined || this.#workspace === '')
      throw new AtsError('open', 'brain does not say where its sandboxes come from');
    if (url !== this.#options.url)
      throw new AtsError('open', `the brain that runs has its sandboxes from ${url}, not from ` +
          `${this.#options.url}; end it with atsctl shutdown, or set REMOTE_TOOLS_URL to that`);
  }

  // ---- the connection

  #request(id, method, params) {
    this.#socket.write(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`);
  }

  #give(c) {
    c.tries++;
    c.given = true;
    this.#request(c.id, METHODS[c.kind], c.params);
    if (c.cancelled)
      this.#request(this.#next++, 'ats/call.cancel', JSON.stringify({ call_id: c.callId }));
  }

  /** The connection keeps a process alive only while a call runs. */
  #hold() {
    if (this.#calls.size > 0)
      this.#socket?.ref();
    else
      this.#socket?.unref();
  }

  #take(socket, part) {
    let from = 0;
    while (socket === this.#socket) {
      const nl = part.indexOf(10, from);
      if (nl < 0)
        break;
      this.#parts.push(part.subarray(from, nl));
      const line = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#partsLength = 0;
      from = nl + 1;
      if (!this.#line(line)) {
        socket.destroy();
        return;
      }
    }
    if (from < part.length) {
      this.#parts.push(part.subarray(from));
      this.#partsLength += part.length - from;
      if (this.#partsLength > limits.line_bytes)
        socket.destroy();
    }
  }

  /** False: it is no JSON-RPC, and nothing after it is believed. */
  #line(line) {
    let message;
    try {
      message = parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
    } catch {
      return false;
    }
    if (!isObject(message))
      return false;
    const id = member(message, 'id');
    if (member(message, 'method') !== undefined || typeof id !== 'number')
      return true; // notifications are not for us
    const c = this.#calls.get(id);
    if (c === undefined || !c.given) {
      this.#first?.(id, message);
      return true;
    }
    this.#losses = 0;
    const answer = readAnswer(c.kind, message);
    // An error is about this sending. One before it, which a lost connection left without an answer,
    // may have run: only an engine that has no room for a call has found that it is new.
    if (c.maybe && c.kind !== 'validate' && answer.result === undefined &&
        answer.end === 'not_started' && answer.code !== 'table_full')
      this.#endAs(c, answer.code, answer.text);
    else
      this.#end(c, answer);
    return true;
  }

  #lost() {
    this.#open = false;
    for (const c of [...this.#calls.values()]) {
      c.maybe ||= c.given;
      c.given = false;
      // A hook has no identity with brain: a second one would be another.
      if (c.maybe && (c.tries >= limits.tries || c.kind === 'hook'))
        this.#endAs(c, 'closed', 'the connection to brain was lost');
    }
    if (this.#calls.size === 0 && this.#failed === undefined)
      this.#away = true;
    else if (++this.#losses > LOSSES_MAX)
      this.#fail(new AtsError('open', 'the connection to brain was lost again and again'));
    else if (this.#failed === undefined)
      this.#opened = this.#begin().catch(() => {});
  }

  #fail(error) {
    this.#failed ??= error;
    this.#open = false;
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    for (const c of [...this.#calls.values()]) {
      c.maybe ||= c.given;
      this.#endAs(c, 'closed', this.#failed.message);
    }
  }

  // ---- calls

  #endAs(c, code, why) {
    this.#end(c, { end: c.maybe ? 'unknown' : 'not_started', isError: true, code,
      text: (c.maybe ? 'The outcome of this call is unknown; it may have run. Look at the state of ' +
        'things before you repeat it: ' : 'The call did not start: ') + why });
  }

  #end(c, answer) {
    this.#calls.delete(c.id);
    this.#waiting -= c.params.length;
    c.signal?.removeEventListener('abort', c.abort);
    this.#hold();
    c.done(answer);
  }

  #params(kind, name, input, more, callId) {
    if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > limits.name_bytes ||
        !isObject(input) || (more.ctx !== undefined && typeof more.ctx !== 'string') ||
        typeof callId !== 'string' || Buffer.byteLength(callId) > limits.name_bytes - 64)
      throw new AtsError('arg', 'a call needs a name, an object, and the text that Ctx.in gave');
    const names = kind === 'hook' ? ['event', 'input'] : ['name', 'arguments'];
    let p = `{"${names[0]}":${JSON.stringify(name)},"${names[1]}":${JSON.stringify(input)},` +
        `"call_id":${JSON.stringify(callId)}`;
    if (more.timeoutMs !== undefined && kind !== 'hook')
      p += `,"timeout_ms":${Math.max(1, Math.trunc(Number(more.timeoutMs)) || 1)}`;
    if (more.ctx !== undefined)
      p += `,"ctx":${more.ctx}`;
    return p + '}';
  }

  async #ask(kind, name, input, more) {
    const id = this.#next++;
    const callId = more.callId ?? `${this.#nonce}-${id}`;
    const params = this.#params(kind, name, input, more, callId);
    if (this.#failed !== undefined)
      throw this.#failed;
    if (this.#calls.size >= limits.calls || params.length > limits.request_bytes ||
        this.#waiting + params.length > limits.waiting_bytes)
      throw new AtsError('limit', 'too many calls, or too large');
    return new Promise((done) => {
      const c = { id, kind, callId, params, done, tries: 0, given: false, maybe: false,
        cancelled: false, signal: more.signal };
      this.#calls.set(id, c);
      this.#waiting += params.length;
      c.abort = () => this.#cancel(c);
      if (more.signal?.aborted)
        this.#cancel(c);
      else
        more.signal?.addEventListener('abort', c.abort, { once: true });
      if (this.#away) {
        this.#away = false;
        this.#opened = this.#begin().catch(() => {});
      }
      if (this.#open && this.#calls.has(id)) {
        this.#give(c);
        this.#hold();
      }
    });
  }

  #cancel(c) {
    if (c.cancelled || !this.#calls.has(c.id))
      return;
    c.cancelled = true;
    if (c.given && this.#open)
      this.#request(this.#next++, 'ats/call.cancel', JSON.stringify({ call_id: c.callId }));
    else if (!c.maybe)
      this.#endAs(c, 'cancelled', 'it was cancelled');
  }
}
