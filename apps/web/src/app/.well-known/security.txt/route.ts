// Serves security.txt (RFC 9116) with the contact that the operator set in the environment.
import { publicUrl, webEnv } from '../../../server/env-of-process.ts';
import { securityText } from '../../../server/security-text.ts';

export const dynamic = 'force-dynamic';

export function GET(): Response {
  const { FAIRLEAD_SECURITY_CONTACT: contact } = webEnv();
  if (contact === undefined) return new Response('no contact is set\n', { status: 404 });
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  return new Response(securityText({ contact, publicUrl: publicUrl(), now: new Date() }), { headers });
}
