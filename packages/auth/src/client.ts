// Owns how a browser signs in and out. A few lines instead of a client library: pages load this before anything else.
import type { ErrorCode } from '@fairlead/contract/errors';

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export type AuthResult = { readonly ok: true } | { readonly ok: false; readonly errorCode: ErrorCode };

export const authClient = {
  signIn: ({ email, password }: Credentials): Promise<AuthResult> => post('/sign-in/email', { email, password }),
  signOut: (): Promise<AuthResult> => post('/sign-out', {}),
};

// The same path as `authPath`, which lives beside code that no browser may load.
const base = '/api/auth';

async function post(path: string, body: object): Promise<AuthResult> {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    credentials: 'same-origin',
    body: JSON.stringify(body),
  });
  return response.ok ? { ok: true } : { ok: false, errorCode: codeOf(response.status) };
}

function codeOf(status: number): ErrorCode {
  if (status === 429) return 'request.too_many';
  if (status === 400 || status === 401 || status === 403) return 'session.credentials_wrong';
  return 'internal.unexpected';
}
