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

const HOSTS_MAX = 10;
const UNREACHABLE = "The control plane didn't answer. Check that it runs and that you are online, then try again.";

export function readFailure(error: unknown): Failure {
  const data = fieldOf(error, 'data');
  const code = textOf(fieldOf(data, 'errorCode'));
  // An error without data is no response of the API: the network, a restart, or a proxy in between failed.
  if (data === null || data === undefined) {
    return { code: null, message: UNREACHABLE, fields: {}, errorId: null, retryable: true };
  }
  return {
    code,
    message: withHosts(textOf(fieldOf(error, 'message')) ?? UNREACHABLE, fieldOf(fieldOf(data, 'details'), 'hosts')),
    fields: fieldsOf(fieldOf(data, 'fields')),
    errorId: textOf(fieldOf(data, 'errorId')),
    retryable: code === 'internal.unexpected',
  };
}

export function isSessionOver(error: unknown): boolean {
  return readFailure(error).code === 'session.required';
}

/** Adds the hosts that a failure concerns: the message of an error code is the same for all. */
function withHosts(message: string, hosts: unknown): string {
  if (!Array.isArray(hosts) || hosts.length === 0) return message;
  const named = hosts.slice(0, HOSTS_MAX).map(String).join(', ');
  return `${message} Host names: ${named}${hosts.length > HOSTS_MAX ? ', …' : ''}`;
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
