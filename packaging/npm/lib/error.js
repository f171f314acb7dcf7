// SPDX-License-Identifier: Apache-2.0

/** What a function could not do. code: arg, plan, refused, limit, open. */
export class AtsError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'AtsError';
    this.code = code;
  }
}
