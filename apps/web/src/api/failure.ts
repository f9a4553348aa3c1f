// Converts a failed call to what a page shows: the API's message, errors by field, an error id to quote. Pure; assumes
// no shape, because anything may be thrown.

export interface Failure {
  readonly code: string | null;
  /** Complete sentence for the reader. */
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly errorId: string | null;
  readonly retryable: boolean;
}

const NAMES_MAX = 10;
const UNREACHABLE = "The control plane didn't answer. Check that it runs and that you are online, then try again.";

/** Code of a change that was never sent, because the browser is offline. */
export const OFFLINE_CODE = 'network.offline';
export const OFFLINE = "You're offline, so nothing was sent. Try again when you're connected.";

export function readFailure(error: unknown): Failure {
  const data = fieldOf(error, 'data');
  const code = textOf(fieldOf(data, 'errorCode'));
  // An error without data is no response of the API: the network, a restart, or a proxy in between failed.
  if (data === null || data === undefined) {
    return { code: null, message: UNREACHABLE, fields: {}, errorId: null, retryable: true };
  }
  return {
    code,
    message: withNames(textOf(fieldOf(error, 'message')) ?? UNREACHABLE, fieldOf(data, 'details')),
    fields: fieldsOf(fieldOf(data, 'fields')),
    errorId: textOf(fieldOf(data, 'errorId')),
    retryable: code === 'internal.unexpected' || code === OFFLINE_CODE,
  };
}

/** Reports whether the reader lacks a permission: trying again can't help. */
export function isForbidden({ code }: Pick<Failure, 'code'>): boolean {
  return code === 'permission.denied' || code === 'control_plane.operator_only';
}

/** Reports whether no response arrived, so that the same call may be sent again. */
export function isUnanswered({ code }: Failure): boolean {
  return code === null || code === OFFLINE_CODE;
}

export function isSessionOver(error: unknown): boolean {
  return readFailure(error).code === 'session.required';
}

/** Lists in the details of a failure, with the words that introduce them. */
const lists: readonly (readonly [string, string])[] = [
  ['hosts', 'Host names'],
  ['deletedApps', 'Recently deleted'],
];

/** Adds the names that a failure concerns: the message of an error code is the same for all. */
function withNames(message: string, details: unknown): string {
  const added = lists.flatMap(([field, words]) => {
    const names = fieldOf(details, field);
    if (!Array.isArray(names) || names.length === 0) return [];
    return `${words}: ${names.slice(0, NAMES_MAX).map(String).join(', ')}${names.length > NAMES_MAX ? ', …' : ''}`;
  });
  return [message, ...added].join(' ');
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value ? Reflect.get(value, name) : undefined;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function fieldsOf(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  const entries = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(entries);
}
