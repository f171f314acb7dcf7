// SPDX-License-Identifier: Apache-2.0
//
// Printed from proto/tools.def and brain/client/limits.def by make docs; do not edit.

/** Tools of the sandbox; file: the parameter that names a file. */
export const tools = new Map([
  ['Bash', { file: null }],
  ['BashOutput', { file: null }],
  ['KillShell', { file: null }],
  ['TaskOutput', { file: null }],
  ['TaskStop', { file: null }],
  ['Read', { file: 'file_path' }],
  ['Write', { file: 'file_path' }],
  ['Edit', { file: 'file_path' }],
  ['MultiEdit', { file: 'file_path' }],
  ['NotebookEdit', { file: 'notebook_path' }],
  ['Glob', { file: null }],
  ['Grep', { file: null }],
  ['LS', { file: null }],
]);

/** Other names of tools. */
export const aliases = new Map([
  ['KillBash', 'KillShell'],
]);

export const limits = {
  calls: 1024,
  request_bytes: 16777216,
  waiting_bytes: 67108864,
  line_bytes: 67108864,
  opener_bytes: 65536,
  tries: 4,
  open_ms: 60000,
  reads: 1024,
  shells: 64,
  name_bytes: 255,
};
