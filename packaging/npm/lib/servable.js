// SPDX-License-Identifier: Apache-2.0
//
// Whether calls are forwarded at all, and which.
import { aliases, tools } from './table.js';

let on = false;

/** Reads REMOTE_TOOLS_URL again; it is read once when this module is loaded. */
export function ats_init() {
  on = (process.env.REMOTE_TOOLS_URL ?? '') !== '';
  return on;
}

export function isOn() {
  return on;
}

/** The row of a tool, by its name or another name of it; undefined if there is none. */
export function rowOf(tool) {
  return tools.get(aliases.get(tool) ?? tool);
}

export function ats_serves(tool) {
  return rowOf(tool) !== undefined;
}

export function ats_servable(tool) {
  return on && ats_serves(tool);
}

ats_init();
