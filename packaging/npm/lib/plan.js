// SPDX-License-Identifier: Apache-2.0
//
// Plan files are the host's alone: which paths mean one, and opening one.
import fs from 'node:fs';
import path from 'node:path';
import { AtsError } from './error.js';

const { O_ACCMODE = 3, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_TRUNC } = fs.constants;
const FLAGS = O_ACCMODE | O_APPEND | O_CREAT | O_EXCL | O_TRUNC;
const LINKS_MAX = 16;
const CONTROL = /[\u0000-\u001f\u007f/]/;

/** A path without "." and "..", or undefined if it cannot be one. */
export function join(cwd, p) {
  if (typeof p !== 'string' || p === '' || p.includes('\0') || Buffer.byteLength(p) >= 4096)
    return undefined;
  const joined = path.posix.resolve(cwd, p);
  return Buffer.byteLength(joined) < 4096 ? joined : undefined;
}

export function isNormal(p) {
  return typeof p === 'string' && p.startsWith('/') && join('/', p) === p;
}

export function isWithin(dir, p) {
  return dir === '/' || p === dir || p.startsWith(dir + '/');
}

/**
 * A normal path without links as far as it exists, then as it stands; links to what is not there
 * yet are followed, too. undefined: it cannot be told.
 */
export function resolve(p) {
  let rest = '';
  for (let links = 0; links < LINKS_MAX;) {
    try {
      return path.posix.join(fs.realpathSync(p), rest);
    } catch {
      let to;
      try {
        to = fs.readlinkSync(p);
      } catch {
        // no link
      }
      if (to !== undefined) {
        p = path.posix.resolve(fs.realpathSync(path.posix.dirname(p)), to);
        links++;
      } else {
        rest = path.posix.join(path.posix.basename(p), rest);
        p = path.posix.dirname(p);
      }
    }
  }
  return undefined;
}

export class Plan {
  #path;
  #real;

  constructor(dir, workspace) {
    if (dir === undefined || dir === null)
      return;
    if (typeof dir !== 'string' || !dir.startsWith('/') || join('/', dir) === undefined)
      throw new AtsError('arg', 'planDir: not an absolute path');
    this.#path = join('/', dir);
    this.#real = resolve(this.#path) ?? this.#path;
    if (isWithin(this.#path, workspace) || isWithin(this.#real, workspace)) {
      this.#path = undefined;
      throw new AtsError('arg', 'planDir: the workspace lies in it');
    }
  }

  /** Whether a normal path lies in the folder, by its text or by where its links lead. */
  holds(p) {
    if (this.#path === undefined)
      return false;
    const real = resolve(p); // what cannot be told may be anything
    return isWithin(this.#path, p) || isWithin(this.#real, p) || real === undefined ||
        isWithin(this.#real, real);
  }

  /** The same of a path as a model wrote it. */
  isMeant(cwd, raw) {
    if (this.#path === undefined || typeof raw !== 'string')
      return false;
    if (raw === '~' || raw.startsWith('~/')) {
      if (!(process.env.HOME ?? '').startsWith('/'))
        return false;
      cwd = process.env.HOME;
      raw = './' + raw.slice(1);
    }
    const p = join(cwd, raw);
    return p !== undefined && this.holds(p);
  }

  open(name, flags, mode) {
    if (this.#path === undefined || typeof name !== 'string' || name === '' || name === '.' ||
        name === '..' || Buffer.byteLength(name) > 255 || CONTROL.test(name) ||
        (flags & ~FLAGS) !== 0)
      throw new AtsError('plan', 'not the name of a plan file');
    let fd;
    try {
      fd = fs.openSync(this.#path + '/' + name, flags | O_NOFOLLOW | O_NONBLOCK, mode);
    } catch (e) {
      if (['ELOOP', 'EISDIR', 'ENXIO'].includes(e.code))
        throw new AtsError('plan', 'not a plan file: ' + e.code);
      throw e;
    }
    if (!fs.fstatSync(fd).isFile()) {
      fs.closeSync(fd);
      throw new AtsError('plan', 'not a plan file');
    }
    return fd;
  }
}
