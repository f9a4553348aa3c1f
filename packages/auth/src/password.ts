// Hashes passwords with argon2id (RFC 9106), as a PHC string that includes its cost. Hashes by scrypt, from an earlier
// version of this product, still work and are replaced at the next sign-in.
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { verifyPassword as verifyScrypt } from 'better-auth/crypto';

/** Minimum cost by OWASP: 19 MiB, two passes. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 };
const tagLength = 32;
/** Maximum number of concurrent hashes: each fills a core and its memory. Others queue. */
const atOnceMax = 2;
const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive({ ...cost, message: normalize(password), nonce, tagLength });
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

export async function verifyPassword({ hash, password }: { hash: string; password: string }): Promise<boolean> {
  const parts = phc.exec(hash);
  if (parts === null) return verifyScrypt({ hash, password });
  const [, memory, passes, parallelism, nonce = '', wanted = ''] = parts;
  const tag = Buffer.from(wanted, 'base64');
  const found = await derive({
    message: normalize(password),
    nonce: Buffer.from(nonce, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: tag.length,
  });
  return timingSafeEqual(found, tag);
}

/** True if a hash has another kind or cost than a new one. */
export function isOutdated(hash: string): boolean {
  return !hash.startsWith(`$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$`);
}

/** One password typed on two keyboards may be composed in two ways. */
function normalize(password: string): string {
  return password.normalize('NFKC');
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

let running = 0;
const waiting: (() => void)[] = [];

async function derive(parameters: Argon2Parameters): Promise<Buffer> {
  if (running >= atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await new Promise((resolve, reject) =>
      argon2('argon2id', parameters, (error, tag) => (error === null ? resolve(tag) : reject(error))),
    );
  } finally {
    // The permit goes to the next in the queue, or is free.
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
