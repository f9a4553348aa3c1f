// Port check of an organization's servers: their proxies answer challenges for a secret name. A check that gets the right answer
// has reached one of them, and no other web server.
import { createHash } from 'node:crypto';

export interface PortCheck {
  /** Host name below `.invalid` (RFC 2606), so that no visitor asks for it. */
  readonly name: string;
  /** 32 bytes in base64url: the thumbprint of HTTP-01, and the digest of TLS-ALPN-01. */
  readonly answer: string;
}

/** `token` is the organization's own. */
export function portCheckOf(token: string): PortCheck {
  const digest = (use: string) => createHash('sha256').update(`fairlead port check ${use} ${token}`).digest();
  const label = digest('name').toString('hex').slice(0, 32);
  return { name: `${label}.fairlead-check.invalid`, answer: digest('answer').toString('base64url') };
}
