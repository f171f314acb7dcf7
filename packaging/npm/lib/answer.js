// SPDX-License-Identifier: Apache-2.0
//
// What brain answers, as a runtime needs it: three ends, whatever is sent.
import { isObject, member, text } from './json.js';

const TEXT_MAX = 128 << 20;

function codeOf(object) {
  const v = text(object, 'code', 39);
  return v !== undefined && /^[a-z0-9_]*$/.test(v) ? v : '';
}

function endOf(result, without) {
  const v = member(result, 'outcome');
  if (v === undefined)
    return without;
  return v === 'done' || v === 'not_started' ? v : 'unknown';
}

function fromError(kind, error) {
  const number = member(error, 'code');
  const code = codeOf(member(error, 'data')) || (number === -32601 ? 'unknown_method' :
    number === -32602 ? 'bad_field' : typeof number === 'number' ? 'refused' : '');
  const acts = (kind !== 'validate' && ['sandbox_lost', 'gateway_lost', 'timeout'].includes(code)) ||
      (kind === 'hook' && code === 'cancelled');
  return { end: acts ? 'unknown' : 'not_started', isError: true, code,
    text: text(error, 'message', TEXT_MAX) ?? '' };
}

function fromCall(result) {
  const end = endOf(result, 'unknown');
  const content = member(result, 'content');
  const delta = member(result, 'ctx_delta');
  return { end, isError: end !== 'done' || member(result, 'is_error') === true,
    code: codeOf(result),
    text: (Array.isArray(content) ? content : []).map((b) => text(b, 'text', TEXT_MAX))
      .filter((t) => t !== undefined).join('\n'),
    result, ...(isObject(delta) ? { ctxDelta: delta } : {}) };
}

function fromValidate(result) {
  const valid = member(result, 'valid') === true;
  return { end: 'done', isError: !valid, valid, code: codeOf(result),
    text: [text(result, 'text', TEXT_MAX), text(result, 'notice', TEXT_MAX)].filter(Boolean)
      .join('\n'), result };
}

/** kind: tool, validate, hook. */
export function readAnswer(kind, message) {
  const error = member(message, 'error');
  const result = member(message, 'result');
  if (isObject(error))
    return fromError(kind, error);
  if (!isObject(result))
    return { end: 'unknown', isError: true, code: 'protocol',
      text: 'brain\'s answer has no result; the call may have run' };
  if (kind === 'tool')
    return fromCall(result);
  if (kind === 'validate')
    return fromValidate(result);
  const end = endOf(result, 'done');
  return { end, isError: end !== 'done', code: codeOf(result),
    text: text(result, 'reason', TEXT_MAX) ?? '', result };
}
