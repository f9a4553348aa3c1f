// Counts every call to identity's routes before identity reads it: sign-in, its second step, passkeys, sign-out.
import { clientAddress } from './client-address.ts';
import type { ApiParts } from './context.ts';
import { problemOf } from './problem.ts';

export async function answerAuth(parts: ApiParts, request: Request): Promise<Response> {
  const { headers } = request;
  try {
    const ip = clientAddress(headers, parts.config.trustedProxies);
    await parts.rateLimit.admit({ headers, ip, isSigningIn: true }, 1);
  } catch (error) {
    return problemOf(error, parts.log, 'auth');
  }
  return parts.auth.handler(request);
}
