// What a page may say about a failed call: the API's sentence, the marked fields, an id to quote. Pure.
// It reads whatever was thrown, so it never assumes a shape.

export interface Failure {
  readonly code: string | null;
  /** A whole sentence for the reader. */
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
  // Without data no answer of ours arrived: the network, a restart, a proxy in between.
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

/** Names the hosts that a failure is about: the sentence of its code is the same for all. */
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
