// SPDX-License-Identifier: Apache-2.0
//
// What a runtime knows, and what of it travels. A delta is brain's, and what it says a sandbox may
// have said first: all of it is checked before any of it is taken.
import fs from 'node:fs';
import { AtsError } from './error.js';
import { isObject, member, parse } from './json.js';
import { isNormal, isWithin, join, Plan, resolve } from './plan.js';
import { rowOf } from './servable.js';
import { limits } from './table.js';

const HOME = '/home/agent';
const PLACES = ['/tmp', HOME, '/run/ats/spill'];
const READS_A_DELTA = 8;
const SIZE_SANE = 1n << 60n;
const TIME_SANE = 1n << 63n;

function whole(v, below) {
  if (typeof v === 'number' ? !Number.isSafeInteger(v) || v < 0 :
      typeof v !== 'bigint' && !(typeof v === 'string' && /^\d{1,20}$/.test(v)))
    return undefined;
  const n = BigInt(v);
  return n >= 0n && n < below ? n : undefined;
}

/** A checked copy, or undefined. */
function saneRead(r) {
  const size = whole(member(r, 'size'), SIZE_SANE);
  const mtime = whole(member(r, 'mtime_ns'), TIME_SANE);
  const path = member(r, 'path');
  const sha256 = member(r, 'sha256');
  if (size === undefined || mtime === undefined || !isNormal(path) ||
      typeof sha256 !== 'string' || !/^([0-9a-f]{64})?$/.test(sha256))
    return undefined;
  return { path, size, mtime_ns: mtime, sha256 };
}

function onlyMembers(object, names) {
  return isObject(object) && Object.keys(object).every((k) => names.includes(k));
}

/** The file parameter as the model wrote it, or undefined. */
function rawPath(row, input) {
  const v = row.file === null ? undefined : member(input, row.file);
  return typeof v === 'string' && v !== '' ? v : undefined;
}

/** As hands understands it: normal and absolute, or undefined. */
function namedPath(row, cwd, input) {
  const raw = rawPath(row, input);
  if (raw === '~' || raw?.startsWith('~/'))
    return join(HOME, './' + raw.slice(1));
  return raw === undefined ? undefined : join(cwd, raw);
}

export class Ctx {
  #workspace;
  #cwd;
  #plan;
  #reads = new Map(); // the newest last
  #shells = [];

  constructor(workspace, planDir) {
    if (typeof workspace !== 'string' || !workspace.startsWith('/') ||
        join('/', workspace) === undefined)
      throw new AtsError('arg', 'workspace: not an absolute path');
    this.#workspace = resolve(join('/', workspace)) ?? join('/', workspace);
    this.#plan = new Plan(planDir, this.#workspace);
    this.#cwd = this.#workspace;
  }

  get cwd() {
    return this.#cwd;
  }

  set cwd(p) {
    if (!this.#mayStand(p))
      throw new AtsError('arg', 'cwd: not a directory of the workspace');
    this.#cwd = p;
  }

  get shells() {
    return [...this.#shells];
  }

  #mayStand(p) {
    return isNormal(p) && [this.#workspace, ...PLACES].some((d) => isWithin(d, p)) &&
        !this.#plan.holds(p);
  }

  setRead(r) {
    const sane = saneRead(r);
    if (sane === undefined)
      throw new AtsError('arg', 'not what a file can be');
    if (this.#plan.holds(sane.path))
      throw new AtsError('plan', 'a plan file');
    this.#put(sane);
  }

  #put(r) {
    this.#reads.delete(r.path);
    this.#reads.set(r.path, r);
    if (this.#reads.size > limits.reads)
      this.#reads.delete(this.#reads.keys().next().value);
  }

  getRead(p) {
    const r = this.#reads.get(p);
    return r === undefined ? undefined : { ...r };
  }

  isPlan(tool, input) {
    const row = rowOf(tool);
    if (row === undefined || !isObject(input))
      return false;
    const p = namedPath(row, this.#cwd, input);
    return (p !== undefined && this.#plan.holds(p)) ||
        this.#plan.isMeant(this.#cwd, rawPath(row, input));
  }

  openPlan(name, flags = fs.constants.O_RDONLY, mode = 0o600) {
    return this.#plan.open(name, flags, mode);
  }

  in(tool, input) {
    const row = rowOf(tool);
    if (row === undefined || !isObject(input))
      throw new AtsError('arg', 'no such tool, or no object');
    if (this.isPlan(tool, input))
      throw new AtsError('plan', 'a plan file is the host\'s alone');
    const r = this.#reads.get(namedPath(row, this.#cwd, input));
    const reads = r === undefined ? '' : `,"reads":[{"path":${JSON.stringify(r.path)},` +
        `"size":${r.size},"mtime_ns":${r.mtime_ns},"sha256":"${r.sha256}"}]`;
    return `{"cwd":${JSON.stringify(this.#cwd)}${reads}}`;
  }

  #isNamed(row, input, p) {
    const raw = rawPath(row, input);
    if (namedPath(row, this.#cwd, input) === p)
      return true;
    if (raw === undefined || raw.startsWith('/') || raw.startsWith('~'))
      return false;
    const tail = join('/', raw); // the session may have stood elsewhere then
    return tail !== undefined && tail !== '/' && p.endsWith(tail);
  }

  #checkReads(row, input, reads) {
    if (!Array.isArray(reads) || reads.length > READS_A_DELTA)
      throw new AtsError('refused', 'delta: reads');
    return reads.map((r) => {
      const sane = onlyMembers(r, ['path', 'size', 'mtime_ns', 'sha256']) && saneRead(r);
      if (!sane || !this.#isNamed(row, input, sane.path) || this.#plan.holds(sane.path))
        throw new AtsError('refused', 'delta: a file that the call cannot have read');
      return sane;
    });
  }

  apply(tool, input, delta) {
    const row = rowOf(tool);
    if (row === undefined || !isObject(input))
      throw new AtsError('arg', 'no such tool, or no object');
    if (typeof delta === 'string') {
      try {
        delta = parse(delta);
      } catch {
        throw new AtsError('refused', 'delta: not JSON');
      }
    }
    if (!onlyMembers(delta, ['cwd', 'reads', 'shells']))
      throw new AtsError('refused', 'delta: not what one looks like');
    const cwd = member(delta, 'cwd');
    const shells = member(delta, 'shells');
    if (!this.#mayStand(cwd))
      throw new AtsError('refused', 'delta: a cwd out of the roots');
    if (shells !== undefined && !(Array.isArray(shells) && shells.length <= limits.shells &&
        shells.every((s) => typeof s === 'string' && /^[a-z0-9_-]{1,32}$/.test(s))))
      throw new AtsError('refused', 'delta: shells');
    const reads = this.#checkReads(row, input, member(delta, 'reads') ?? []);
    for (const r of reads)
      this.#put(r);
    this.#cwd = cwd;
    if (shells !== undefined)
      this.#shells = [...shells];
  }
}
