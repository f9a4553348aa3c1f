// Checks that a request to a webhook comes from its git host: by the body's signature, or by a token. In constant time.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { hashToken } from '@fairlead/core/kernel';
import type { WebhookEndpoint } from '@fairlead/core/push';
import { bearerOf } from '../bearer.ts';

export function isAuthentic({ check }: WebhookEndpoint, headers: Headers, body: Buffer): boolean {
  if (check.kind === 'token') {
    const token = headers.get('x-gitlab-token') ?? bearerOf(headers);
    return token !== null && isEqual(hashToken(token), check.hash);
  }
  const signature = headers.get('x-hub-signature-256');
  return signature !== null && isEqual(signature, signatureOf(check.secret, body));
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
