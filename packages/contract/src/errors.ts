// Table of error codes: each with its code on HTTP, tRPC and the link, and the sentence for the user. Codes are only
// added.
// Invariant: a message never has secrets or another organization's data, because it is shown unchanged.
import { agentErrors } from './errors/agents.ts';
import { appErrors } from './errors/apps.ts';
import type { ErrorEntry } from './errors/entry.ts';
import { githubErrors } from './errors/github.ts';
import { peopleErrors } from './errors/people.ts';
import { serverErrors } from './errors/servers.ts';

const table = {
  ...peopleErrors,
  ...appErrors,
  ...serverErrors,
  ...agentErrors,
  ...githubErrors,
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof table;
/** Codes that may end a link. */
export type LinkErrorCode = Extract<ErrorCode, `link.${string}`>;

export const errorTable: Readonly<Record<ErrorCode, ErrorEntry>> = table;
export const errorCodes = Object.keys(table) as readonly ErrorCode[];

/** True if a code that a peer sent is known; agents may be newer than we are. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(table, code);
}

const appErrorBrand = Symbol.for('fairlead.AppError');

/** An expected failure. It knows no transport: a border turns its code into HTTP, tRPC or a link error by the table. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  /** Ids and values for the reader of the log or the form; shown to the user, so never a secret. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(errorTable[code].message, options);
    this.code = code;
    this.details = details;
  }

  get [appErrorBrand](): true {
    return true;
  }

  /** A bundler may load this module twice in one process, and an error of either copy is one of ours. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && appErrorBrand in value;
  }
}

export function isLinkErrorCode(code: ErrorCode): code is LinkErrorCode {
  return errorTable[code].link !== undefined;
}
