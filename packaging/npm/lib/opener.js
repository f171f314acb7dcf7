// SPDX-License-Identifier: Apache-2.0
//
// atsctl registers a session, and starts brain when none runs.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { AtsError } from './error.js';
import { isObject, member, parse, text } from './json.js';
import { limits } from './table.js';

const ENVIRONMENT = ['HOME', 'PATH', 'USER', 'LOGNAME', 'LANG', 'XDG_RUNTIME_DIR',
  'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'TZ'];

function isExecutable(p) {
  try {
    fs.accessSync(p, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function findAtsctl(asked) {
  const dirs = ['/usr/local/bin', ...(process.env.PATH ?? '').split(':')];
  const places = asked === undefined ? dirs.filter((d) => d.startsWith('/'))
    .map((d) => path.join(d, 'atsctl')) : [asked];
  const found = places.find(isExecutable);
  if (found === undefined)
    throw new AtsError('open', `atsctl is not ${asked ?? 'in /usr/local/bin or in PATH'}; ` +
        'install it, or name its absolute path');
  return found;
}

function run(options, args, stdio) {
  const env = { REMOTE_TOOLS_URL: options.url };
  for (const name of ENVIRONMENT)
    if (process.env[name] !== undefined)
      env[name] = process.env[name];
  const global = ['--json'];
  if (options.socket !== undefined)
    global.push('--socket', options.socket);
  return spawn(findAtsctl(options.atsctl), [...global, ...args], { env, stdio, cwd: '/' });
}

function read(said) {
  let why = 'atsctl did not say where the session is';
  for (const line of said.split('\n')) {
    let v;
    try {
      v = parse(line);
    } catch {
      continue;
    }
    const error = member(v, 'error');
    if (isObject(error))
      why = text(error, 'message', 400) ?? why;
    const session = text(v, 'session', 63);
    const sandbox = text(v, 'sandbox', 63);
    const door = text(v, 'door', 4095);
    if (session && sandbox && door)
      return { session, sandbox, door };
  }
  throw new AtsError('open', why);
}

/** Finds or makes the session: a promise of { session, sandbox, door }. */
export function openSession(options, session) {
  return new Promise((done, failed) => {
    const args = options.noStart ? ['--no-start'] : [];
    args.push('session', session === undefined ? 'new' : 'open', '--workspace',
      options.workspace, '--', ...(session === undefined ? [] : [session]));
    const child = run(options, args, ['ignore', 'pipe', 'pipe']);
    let said = '';
    const add = (part) => {
      said += part;
      if (said.length > limits.opener_bytes)
        child.kill('SIGKILL');
    };
    child.stdout.setEncoding('utf8').on('data', add);
    child.stderr.setEncoding('utf8').on('data', add);
    child.on('error', (e) => failed(new AtsError('open', 'atsctl: ' + e.message)));
    child.on('close', () => {
      try {
        done(read(said.length > limits.opener_bytes ? '' : said));
      } catch (e) {
        failed(e);
      }
    });
  });
}

/** Closes it; nothing waits for that. */
export function closeSession(options, session) {
  try {
    run(options, ['session', 'close', session], 'ignore').on('error', () => {}).unref();
  } catch {
    // without atsctl the session stays until brain forgets it
  }
}
