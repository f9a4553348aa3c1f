// Checks that a request to a webhook comes from its git host: by the body's signature, or by a token. In constant time.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { hashToken } from '@fairlead/core/kernel';
import type { WebhookEndpoint } from '@fairlead/core/push';
import { bearerOf } from '../bearer.ts';

export function isAuthentic(endpoint: WebhookEndpoint, headers: Headers, body: Buffer): boolean {
  const { check } = endpoint;
  const credential = credentialOf(endpoint, headers);
  if (credential === null) return false;
  return check.kind === 'token'
    ? isEqual(hashToken(credential), check.hash)
    : isEqual(credential, signatureOf(check.secret, body));
}

/** True if a request has the token, or a signature, which needs the body. */
export function hasCredential(endpoint: WebhookEndpoint, headers: Headers): boolean {
  const { check } = endpoint;
  const credential = credentialOf(endpoint, headers);
  return credential !== null && (check.kind === 'signature' || isEqual(hashToken(credential), check.hash));
}

function credentialOf({ check }: WebhookEndpoint, headers: Headers): string | null {
  return check.kind === 'token'
    ? (headers.get('x-gitlab-token') ?? bearerOf(headers))
    : headers.get('x-hub-signature-256');
}

/** As GitHub, Gitea and Forgejo write it in X-Hub-Signature-256. */
export function signatureOf(secret: Buffer | string, body: Buffer | string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** The expected length is no secret. */
function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
