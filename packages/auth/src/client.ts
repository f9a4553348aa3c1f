// Browser client for sign-in, sign-out and passkeys. A few lines instead of a client library: pages load this before
// anything else.
import type { ErrorCode } from '@fairlead/contract/errors';

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export type AuthResult =
  | { readonly ok: true /** The password was right, and a code is asked for next. */; readonly needsCode: boolean }
  | { readonly ok: false; readonly errorCode: ErrorCode }
  /** The person closed the browser's own question, or no passkey was there. */
  | { readonly ok: false; readonly errorCode: null };

export type AddedPasskey =
  | {
      readonly ok: true /** Those of the account's first factor, shown once; else empty. */;
      readonly recoveryCodes: readonly string[];
    }
  | Exclude<AuthResult, { readonly ok: true }>;

export const authClient = {
  signIn: ({ email, password }: Credentials): Promise<AuthResult> => post('/sign-in/email', { email, password }),
  signInByCode: (code: string): Promise<AuthResult> => post('/two-factor/verify-totp', { code }),
  signInByRecoveryCode: (code: string): Promise<AuthResult> => post('/two-factor/verify-backup-code', { code }),
  signInByPasskey: (): Promise<AuthResult> => answerChallenge('/passkey/verify-authentication'),
  startGithubSignIn: async (): Promise<{ readonly url: string } | { readonly errorCode: ErrorCode }> => {
    const answer = await send('/sign-in/github', {});
    return 'errorCode' in answer ? answer : { url: String(fieldOf(answer.json, 'url')) };
  },
  completeGithubSignIn: (proof: { readonly state: string; readonly code: string }): Promise<AuthResult> =>
    post('/sign-in/github/complete', proof),
  /** Makes the open session fresh. */
  confirmByPasskey: (): Promise<AuthResult> => answerChallenge('/confirm/passkey'),
  addPasskey: async (name: string): Promise<AddedPasskey> => {
    const options = await get<PublicKeyCredentialCreationOptionsJSON>('/passkey/generate-register-options');
    if ('errorCode' in options) return options;
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.json);
    const made = await requestCredential(() => navigator.credentials.create({ publicKey }));
    if (made === null) return refused;
    const answer = await send('/passkey/verify-registration', { name, response: made.toJSON() });
    if ('errorCode' in answer) return answer;
    const codes = fieldOf(answer.json, 'recoveryCodes');
    return { ok: true, recoveryCodes: Array.isArray(codes) ? codes.map(String) : [] };
  },
  signOut: (): Promise<AuthResult> => post('/sign-out', {}),
};

/** True if this browser supports passkeys. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

// Same path as `authPath`, which is in a module that no browser may load.
const base = '/api/auth';
const refused = { ok: false, errorCode: null } as const;

async function answerChallenge(path: string): Promise<AuthResult> {
  const options = await get<PublicKeyCredentialRequestOptionsJSON>('/passkey/generate-authenticate-options');
  if ('errorCode' in options) return options;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.json);
  const signed = await requestCredential(() => navigator.credentials.get({ publicKey }));
  return signed === null ? refused : post(path, { response: signed.toJSON() });
}

/** Null if the person closed the browser's prompt: it throws NotAllowedError for that and for similar cases. */
async function requestCredential(request: () => Promise<Credential | null>): Promise<PublicKeyCredential | null> {
  try {
    const credential = await request();
    return credential instanceof PublicKeyCredential ? credential : null;
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

type Answered<T> = { readonly json: T } | { readonly ok: false; readonly errorCode: ErrorCode };

async function get<T>(path: string): Promise<Answered<T>> {
  return read<T>(await fetch(`${base}${path}`, { credentials: 'same-origin' }));
}

async function post(path: string, body: object): Promise<AuthResult> {
  const answer = await send(path, body);
  return 'errorCode' in answer ? answer : { ok: true, needsCode: fieldOf(answer.json, 'needsCode') === true };
}

async function send(path: string, body: object): Promise<Answered<unknown>> {
  return read(
    await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      credentials: 'same-origin',
      body: JSON.stringify(body),
    }),
  );
}

async function read<T>(response: Response): Promise<Answered<T>> {
  const json: unknown = await response.json().catch(() => null);
  return response.ok ? { json: json as T } : { ok: false, errorCode: codeOf(json) };
}

function codeOf(json: unknown): ErrorCode {
  const code = fieldOf(json, 'code');
  // Only identity returns codes of the table here; a proxy in between knows none of them.
  return typeof code === 'string' && code.includes('.') ? (code as ErrorCode) : 'internal.unexpected';
}

function fieldOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null && name in json ? Reflect.get(json, name) : undefined;
}
