// SPDX-License-Identifier: Apache-2.0
//
// The client of agent-tool-server for agent runtimes. README.md has the three places of a dispatch
// loop; index.d.ts says what each function takes.
export { ats_init, ats_servable, ats_serves, isOn } from './lib/servable.js';
export { Ctx } from './lib/ctx.js';
export { Session } from './lib/session.js';
export { AtsError } from './lib/error.js';
