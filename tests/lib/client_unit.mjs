// SPDX-License-Identifier: Apache-2.0
//
// usage: client_unit.mjs PACKAGE DIR: the package's own reading of JSON, answers and paths; DIR has
// ws and plans. Prints one line for each that is not as it should be.
import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, dir] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { parse } = await load('lib/json.js');
const { readAnswer } = await load('lib/answer.js');
const { Ctx, AtsError, ats_init, ats_servable, isOn } = await load('index.js');
const ws = path.join(dir, 'ws');
const plans = path.join(dir, 'plans');
const hash = 'ab'.repeat(32);

function check(name, fn) {
  try {
    fn();
  } catch (e) {
    console.log(`${name}: ${e.message}`);
  }
}

function code(fn) {
  try {
    fn();
    return 'none';
  } catch (e) {
    return e instanceof AtsError ? e.code : e.message;
  }
}

check('long integers keep their digits, and strings what looks like one', () => {
  assert.deepEqual(parse('{"a":1764530000123456789,"b":"x:1764530000123456789","c":[-1234567890123456],' +
    '"d":12,"e":1.7645300001234567,"f":"\\"1764530000123456789"}'),
  { a: '1764530000123456789', b: 'x:1764530000123456789', c: ['-1234567890123456'], d: 12,
    e: 1.7645300001234567, f: '"1764530000123456789' });
  for (const bad of ['{"a":1764530000123456789', '{"a":01764530000123456789}', '', 'x',
    '{"a":17645300001234567891764530000123456789x}'])
    assert.throws(() => parse(bad), SyntaxError, bad);
});

check('a ctx from and to the wire is the same, digit by digit', () => {
  const ctx = new Ctx(ws, plans);
  const delta = `{"cwd":"${ws}","reads":[{"path":"${ws}/f","size":3,"mtime_ns":1764530000123456789,` +
    `"sha256":"${hash}"}],"shells":["bash_1"]}`;
  ctx.apply('Read', { file_path: 'f' }, delta);
  assert.equal(ctx.in('Edit', { file_path: `${ws}/f` }), delta.replace(/,"shells.*/, '}'));
  assert.deepEqual(ctx.shells, ['bash_1']);
  assert.equal(ctx.getRead(`${ws}/f`).mtime_ns, 1764530000123456789n);
  ctx.getRead(`${ws}/f`).size = 7n;
  assert.equal(ctx.getRead(`${ws}/f`).size, 3n);
});

check('what a delta or a caller says is looked at', () => {
  const ctx = new Ctx(ws, plans);
  const read = { path: `${ws}/f`, size: 1, mtime_ns: 1, sha256: '' };
  for (const bad of [{ size: -1 }, { size: 1.5 }, { size: NaN }, { size: '1e3' }, { mtime_ns: null },
    { mtime_ns: 1n << 63n }, { sha256: 'AB' }, { sha256: 7 }, { path: 'f' }, { path: `${ws}/../f` },
    { path: `${ws}/f\0` }, { path: `${ws}//f` }, { path: 7 }])
    assert.equal(code(() => ctx.setRead({ ...read, ...bad })), 'arg', JSON.stringify(bad, String));
  assert.equal(code(() => ctx.setRead({ ...read, path: `${plans}/a.md` })), 'plan');
  assert.equal(code(() => ctx.setRead(Object.create(read))), 'arg');
  for (const bad of [undefined, null, [], 'x', 7, {}, { cwd: 7 }, { cwd: ws, __proto__: null, x: 1 },
    JSON.parse(`{"cwd":"${ws}","__proto__":{"reads":[]}}`)])
    assert.equal(code(() => ctx.apply('Read', {}, bad)), 'refused', JSON.stringify(bad));
  assert.equal(code(() => ctx.apply('Nope', {}, { cwd: ws })), 'arg');
  assert.equal(code(() => ctx.in('constructor', {})), 'arg');
  assert.equal(code(() => ctx.in('Read', [])), 'arg');
  for (const p of ['/etc', 'x', `${ws}/../x`, `${ws}\0`, plans, 7])
    assert.equal(code(() => { ctx.cwd = p; }), 'arg', String(p));
  assert.equal(ctx.cwd, ws);
  for (const p of [plans + '/..', dir, 'plans', 7])
    assert.equal(code(() => new Ctx(ws, p)), 'arg', String(p));
});

check('plan files', () => {
  const ctx = new Ctx(ws, plans);
  process.env.HOME = dir;
  for (const p of [`${plans}/a.md`, '../plans/new.md', `${ws}/../plans/a.md`, '~/plans/a.md',
    `${dir}//plans/./a.md`])
    assert.equal(ctx.isPlan('Write', { file_path: p }), true, p);
  for (const p of ['f', `${plans}-not/a.md`, '', 7, undefined, `${ws}/f`])
    assert.equal(ctx.isPlan('Write', { file_path: p }), false, String(p));
  assert.equal(ctx.isPlan('Bash', { command: plans }), false);
  for (const p of ['..', '.', '', '../a.md', '/etc/passwd', 'a/b', 'a.md\0', 'a\n', 'x'.repeat(256), 7])
    assert.equal(code(() => ctx.openPlan(p)), 'plan', String(p));
  assert.equal(code(() => ctx.openPlan('a.md', 0o200000)), 'plan');
});

check('answers have three ends', () => {
  const ends = (kind, m) => readAnswer(kind, m).end;
  assert.equal(ends('tool', { result: { outcome: 'done' } }), 'done');
  for (const result of [{}, { outcome: 'x' }, { outcome: 1 }, JSON.parse('{"__proto__":{"outcome":"done"}}')])
    assert.equal(ends('tool', { result }), 'unknown');
  for (const m of [{}, { result: 7 }, { result: [] }, { error: 7 }])
    assert.equal(ends('tool', m), 'unknown');
  assert.equal(ends('tool', { error: { code: -32602 } }), 'not_started');
  assert.equal(ends('hook', { error: { data: { code: 'cancelled' } } }), 'unknown');
  assert.equal(ends('validate', { error: { data: { code: 'timeout' } } }), 'not_started');
  assert.equal(readAnswer('tool', { result: { outcome: 'done', content: [{ text: 'a' }, { text: 7 },
    null, { text: 'b' }] } }).text, 'a\nb');
  assert.equal(readAnswer('hook', { result: { decision: 'deny', reason: 'no' } }).text, 'no');
});

check('the environment says whether it is on', () => {
  delete process.env.REMOTE_TOOLS_URL;
  assert.equal(ats_init() || isOn() || ats_servable('Bash'), false);
  process.env.REMOTE_TOOLS_URL = '';
  assert.equal(ats_init(), false);
  process.env.REMOTE_TOOLS_URL = 'stdio';
  assert.equal(ats_init() && ats_servable('Bash') && ats_servable('KillBash'), true);
  assert.equal(ats_servable('bash') || ats_servable('toString') || ats_servable(undefined), false);
});
