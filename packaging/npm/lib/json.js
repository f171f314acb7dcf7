// SPDX-License-Identifier: Apache-2.0
//
// JSON from brain, where integers may be longer than a number of JavaScript holds.

const LONG = /[:,[]\s*-?\d{16}/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** JSON.parse, but integers of 16 digits and more become strings of digits. Throws SyntaxError. */
export function parse(text) {
  if (LONG.test(text)) {
    JSON.parse(text); // what is no JSON is refused as it came
    text = text.replace(TOKENS, (t) => (/^-?\d{16,}$/.test(t) ? `"${t}"` : t));
  }
  return JSON.parse(text);
}

export function isObject(v) {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

/** A member of its own, never an inherited one. */
export function member(object, name) {
  return isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;
}

export function text(object, name, max = 65536) {
  const v = member(object, name);
  return typeof v === 'string' && v.length <= max ? v : undefined;
}
