// SPDX-License-Identifier: Apache-2.0
//
// Compiled, not run: each name of the package's types as a runtime would use it, and uses that
// must not compile.
import {
  ats_init, ats_servable, ats_serves, isOn, AtsError, Ctx, Session,
  type Answer, type CallOptions, type End, type Read, type SessionOptions,
} from 'agent-tool-server';

const options: SessionOptions = { workspace: '/ws', session: 'mine', noStart: true, url: 'stdio',
  atsctl: '/usr/bin/atsctl', socket: '/run/ats/brain.sock' };

export async function turn(name: string, input: object): Promise<string> {
  if (!ats_servable(name) || !ats_serves(name) || !isOn() || !ats_init())
    return 'native';
  const session: Session = await Session.open(options);
  const ctx = new Ctx(session.workspace, '/home/me/plans');
  if (ctx.isPlan(name, input))
    return String(ctx.openPlan('a.md', 0, 0o600));
  const more: CallOptions = { ctx: ctx.in(name, input), callId: 'x', timeoutMs: 5, signal:
    new AbortController().signal };
  const answer: Answer = await session.tool(name, input, more);
  if (answer.ctxDelta)
    ctx.apply(name, input, answer.ctxDelta);
  const read: Read = { path: '/ws/f', size: 1, mtime_ns: 2n, sha256: '' };
  ctx.setRead(read);
  ctx.cwd = '/ws/sub';
  const known = ctx.getRead('/ws/f')?.mtime_ns ?? 0n;
  const check = await session.validate(name, input);
  const hook = await session.hook('Stop', {}, { callId: 'y' });
  const end: End = hook.end;
  session.close();
  return [end, check.valid === true, answer.text, answer.code, answer.isError, answer.result?.['x'],
    known + 1n, ctx.shells.length, session.id, session.pending].join();
}

export function why(e: unknown): string {
  return e instanceof AtsError && e.code === 'plan' ? e.message : '';
}

// @ts-expect-error: there is no fourth end
export const wrong: End = 'perhaps';
// @ts-expect-error: sessions are opened
export const made = new Session(options);
export const hooks = (s: Session) =>
  // @ts-expect-error: a hook has no ctx
  s.hook('Stop', {}, { ctx: '{}' });
