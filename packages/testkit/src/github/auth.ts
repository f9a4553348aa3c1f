// Authentication of the fake GitHub: JWTs of apps, tokens of installations with permissions, tokens of people.
import { createVerify } from 'node:crypto';
import type { FakeApp, FakeInstallation, FakeState, FakeToken } from './state.ts';

export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** GitHub allows ten minutes, and a clock that is a minute off. */
const jwtSecondsMax = 600;

export function requireApp(state: FakeState, authorization: string): FakeApp {
  const [head = '', claims = '', signature = ''] = bearerOf(authorization).split('.');
  const { alg } = decode(head);
  if (alg !== 'RS256') throw new Refusal(401, 'A JSON web token could not be decoded');
  const { iss, iat, exp } = decode(claims);
  const app = state.apps.find(({ id, clientId }) => String(iss) === String(id) || iss === clientId);
  if (app === undefined) throw new Refusal(401, 'Integration must generate a public key');
  const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`);
  if (!verify.verify(app.publicKey, Buffer.from(signature, 'base64url')))
    throw new Refusal(401, 'A JSON web token could not be decoded');
  const now = Math.floor(state.now() / 1000);
  if (typeof iat !== 'number' || iat > now) throw new Refusal(401, "'Issued at' claim ('iat') must be in the past");
  if (typeof exp !== 'number' || exp <= now || exp - iat > jwtSecondsMax + 60)
    throw new Refusal(401, "'Expiration time' claim ('exp') is too far in the future or past");
  return app;
}

function decode(part: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    throw new Refusal(401, 'A JSON web token could not be decoded');
  }
}

function bearerOf(authorization: string): string {
  return /^(?:bearer|token) (.+)$/i.exec(authorization)?.[1] ?? '';
}

export interface TokenUse {
  readonly token: FakeToken;
  readonly installation: FakeInstallation;
}

export function requireToken(state: FakeState, authorization: string): TokenUse {
  return requireTokenValue(state, bearerOf(authorization));
}

export function requireTokenValue(state: FakeState, value: string): TokenUse {
  const token = state.tokens.get(value);
  if (token === undefined || token.expiresAt <= state.now()) throw new Refusal(401, 'Bad credentials');
  const installation = state.installations.find(({ id }) => id === token.installationId);
  if (installation === undefined) throw new Refusal(401, 'Bad credentials');
  if (installation.suspendedAt !== null) throw new Refusal(403, 'This installation has been suspended');
  return { token, installation };
}

export function requirePerson(state: FakeState, authorization: string) {
  const person = state.userTokens.get(bearerOf(authorization));
  if (person === undefined) throw new Refusal(401, 'Bad credentials');
  return person;
}

const levels = ['read', 'write', 'admin'];

/** True if the permissions hold `wanted`, such as "contents:read". */
export function holds(permissions: Readonly<Record<string, string>>, wanted: string): boolean {
  const [name = '', level = ''] = wanted.split(':');
  return levels.indexOf(permissions[name] ?? '') >= levels.indexOf(level);
}
