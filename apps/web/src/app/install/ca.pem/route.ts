// Serves the certificate authority of the public URL, for people who import it. They compare its fingerprint with one
// that they got elsewhere.
import { readPublicAuthority } from '../../../server/install/public-authority.ts';
import { parts } from '../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const { env } = await parts();
  const authority = await readPublicAuthority(env.FAIRLEAD_PUBLIC_CA_FILE);
  if (authority === null) {
    return new Response('every browser knows the certificate authority of this address\n', { status: 404 });
  }
  return new Response(authority.pem, {
    headers: { 'content-type': 'application/x-pem-file', 'cache-control': 'no-store' },
  });
}
