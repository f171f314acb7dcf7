// SPDX-License-Identifier: Apache-2.0

/** Reads REMOTE_TOOLS_URL again; it is read once when the module is loaded. */
export function ats_init(): boolean;
/** Whether REMOTE_TOOLS_URL was set when it was last read. */
export function isOn(): boolean;
/** Whether a tool of that name is to be forwarded: the interceptor of a dispatch loop. */
export function ats_servable(tool: string): boolean;
/** Whether the sandbox has a tool of that name; REMOTE_TOOLS_URL is not asked. */
export function ats_serves(tool: string): boolean;

/** How a call ended. Of unknown ones look at the state of things before they are repeated. */
export type End = 'done' | 'not_started' | 'unknown';

export interface Answer {
  end: End;
  /** The model should see it as an error. */
  isError: boolean;
  /** Of a validate: the verdict. */
  valid?: boolean;
  /** '', or a word of docs/gen/errors.md. */
  code: string;
  /** For the model; images are in result. Of a hook: the reason of what was decided. */
  text: string;
  /** Brain's whole answer; integers of 16 digits and more are strings. */
  result?: Record<string, unknown>;
  /** For Ctx.apply. */
  ctxDelta?: Record<string, unknown>;
}

export interface SessionOptions {
  /** REMOTE_TOOLS_URL unless given. */
  url?: string;
  /** The current directory unless given. */
  workspace?: string;
  /** A name of the runtime's choice, or an id; without it a new one, which close() closes. */
  session?: string;
  /** Of a brain that is not the user's own. */
  socket?: string;
  /** The path of atsctl; without it /usr/local/bin, then PATH. */
  atsctl?: string;
  /** Do not start a brain when none runs. */
  noStart?: boolean;
}

export interface CallOptions {
  /** What Ctx.in gave; not of a hook. */
  ctx?: string;
  /** The runtime's own id: asked again it is the same call. */
  callId?: string;
  /** The tool's own time limit unless given. */
  timeoutMs?: number;
  /** Aborting asks for the call's end; its answer still comes. */
  signal?: AbortSignal;
}

/** A session with brain. It keeps a process alive only while a call runs. */
export class Session {
  private constructor();
  /** Rejects with an AtsError: open, arg. */
  static open(options?: SessionOptions): Promise<Session>;
  readonly id: string;
  /** Absolute, as brain resolved it: where paths of the session begin. */
  readonly workspace: string;
  /** Calls without an answer. */
  readonly pending: number;
  /** A tool call. These three reject with an AtsError (arg, limit, open) when nothing was sent. */
  tool(name: string, input: object, options?: CallOptions): Promise<Answer>;
  /** The tool's checks alone: validateInput. */
  validate(name: string, input: object, options?: CallOptions): Promise<Answer>;
  /** A command hook, which runs in the sandbox; input is what it reads. */
  hook(event: string, input: object, options?: Omit<CallOptions, 'ctx' | 'timeoutMs'>): Promise<Answer>;
  /** Calls without an answer are answered: unknown, or not started. */
  close(): void;
}

export interface Read {
  /** Absolute, normal. */
  path: string;
  size: number | bigint;
  mtime_ns: number | bigint | string;
  /** 64 lower-case hex digits; '': it was seen in part. */
  sha256: string;
}

/** What a runtime knows: cwd, the files it has read, background shells. */
export class Ctx {
  /** workspace: Session.workspace. planDir: the host's plan folder, absolute. */
  constructor(workspace: string, planDir?: string);
  get cwd(): string;
  /** Throws an AtsError: arg. */
  set cwd(path: string);
  /** Ids of the background shells. */
  readonly shells: string[];
  /** Throws an AtsError: arg, plan. */
  setRead(read: Read): void;
  getRead(path: string): { path: string; size: bigint; mtime_ns: bigint; sha256: string } | undefined;
  /** Whether input names a file of the plan folder, under whatever name: run the native tool. */
  isPlan(tool: string, input: object): boolean;
  /** Opens a plan file for the native tool: one plain file name. Returns a descriptor; throws an
   * AtsError, plan, for every other name. flags, mode: as of fs.openSync, flags as a number. */
  openPlan(name: string, flags?: number, mode?: number): number;
  /** What goes with a call, for CallOptions.ctx. Throws an AtsError: arg, plan. */
  in(tool: string, input: object): string;
  /** Takes what a call has changed: all of it, or it throws an AtsError: refused, arg. */
  apply(tool: string, input: object, delta: object | string): void;
}

export class AtsError extends Error {
  readonly code: 'arg' | 'plan' | 'refused' | 'limit' | 'open';
  constructor(code: string, message: string);
}
