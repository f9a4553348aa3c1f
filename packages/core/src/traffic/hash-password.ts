// Hashes the password of a domain: the proxy of the server checks passwords against it.
import { pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(pbkdf2);
/** Same count as in `fairlead-agent proxy --hash-password` (OWASP's count for PBKDF2-HMAC-SHA256). */
const iterations = 600_000;

/** `pbkdf2-sha256:<iterations>:<salt, base64>:<32 bytes, base64>`, with a salt of its own. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, iterations, 32, 'sha256');
  return `pbkdf2-sha256:${iterations}:${salt.toString('base64')}:${hash.toString('base64')}`;
}
