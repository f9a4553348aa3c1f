// Requests to a certificate authority that need no server: the registration of an account with external account binding
// (RFC 8555, 7.3.4), the question if its directory answers, and when it wants certificates to be renewed (RFC 9773).
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { request } from 'node:https';

const timeoutMs = 15_000;
const bodyBytesMax = 256 * 1024;
const detailCharsMax = 300;
const attemptsMax = 3;

export interface Directory {
  readonly url: string;
  /** Authorities of its own certificate, PEM; empty: the system's. */
  readonly caPem: string;
}

export interface Registration {
  readonly directory: Directory;
  /** Address that the authority may write to; empty: none. */
  readonly email: string;
  /** ECDSA key on P-256, PKCS#8 in DER. */
  readonly keyDer: Uint8Array;
  readonly binding: { readonly keyId: string /** Base64url. */; readonly hmacKey: string };
}

interface Answer {
  readonly status: number;
  readonly nonce: string;
  readonly retryAfter: string;
  readonly body: unknown;
}

/** Registers a key. Returns the reason if the authority refuses it, as a sentence for users; null: registered. */
export async function registerAcmeAccount(registration: Registration): Promise<string | null> {
  try {
    return await register(registration);
  } catch (error) {
    return `The account could not be registered: ${error instanceof Error ? error.message : 'no connection'}.`;
  }
}

async function register({ directory, email, keyDer, binding }: Registration): Promise<string | null> {
  const { newNonce, newAccount } = (await call(directory, 'GET', directory.url)).body as Record<string, unknown>;
  if (typeof newNonce !== 'string' || typeof newAccount !== 'string') throw new Error('the directory is incomplete');
  const key = createPrivateKey({ key: Buffer.from(keyDer), type: 'pkcs8', format: 'der' });
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
  const jwk = { crv, kty, x, y };
  const bound = signed({ alg: 'HS256', kid: binding.keyId, url: newAccount }, JSON.stringify(jwk), (input) =>
    createHmac('sha256', Buffer.from(binding.hmacKey, 'base64url')).update(input).digest(),
  );
  const payload = {
    termsOfServiceAgreed: true,
    ...(email === '' ? {} : { contact: [`mailto:${email}`] }),
    externalAccountBinding: bound,
  };
  let { nonce } = await call(directory, 'HEAD', newNonce);
  for (let attempt = 1; ; attempt += 1) {
    const header = { alg: 'ES256', jwk, nonce, url: newAccount };
    const answer = await call(directory, 'POST', newAccount, signed(header, JSON.stringify(payload), signer(key)));
    if (answer.status === 200 || answer.status === 201) return null;
    const { type, detail } = (answer.body ?? {}) as Record<string, unknown>;
    // The authority may refuse any nonce (RFC 8555, 6.5).
    if (type === 'urn:ietf:params:acme:error:badNonce' && attempt < attemptsMax) {
      nonce = answer.nonce;
      continue;
    }
    const words =
      typeof detail === 'string' ? detail.replace(/\p{Cc}/gu, '').slice(0, detailCharsMax) : 'no reason given';
    return `The authority rejected the account. Check the key of the external account binding (EAB). It says: “${words}”`;
  }
}

function signer(key: KeyObject) {
  return (input: string) => sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
}

/** Returns a flattened JWS (RFC 7515, 7.2.2). */
function signed(header: object, payload: string, mac: (input: string) => Buffer) {
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const [encodedHeader, encodedPayload] = [encode(JSON.stringify(header)), encode(payload)];
  const signature = mac(`${encodedHeader}.${encodedPayload}`).toString('base64url');
  return { protected: encodedHeader, payload: encodedPayload, signature };
}

/** True if the directory answers as one. */
export async function probeAcmeDirectory(directory: Directory): Promise<boolean> {
  try {
    const { status, body } = await call(directory, 'GET', directory.url);
    return status === 200 && typeof (body as Record<string, unknown> | null)?.newOrder === 'string';
  } catch {
    // No connection, no certificate, no JSON: it does not answer.
    return false;
  }
}

export interface RenewalInfo {
  readonly start: Date;
  readonly end: Date;
  /** Time until the authority wants to be asked again; null: it names none. */
  readonly retryAfterMs: number | null;
}

/** Returns the windows of renewal that the authority suggests, in the order of the identifiers; null where it names none. */
export async function readRenewalInfo(
  directory: Directory,
  identifiers: readonly string[],
): Promise<readonly (RenewalInfo | null)[]> {
  const found: (RenewalInfo | null)[] = [];
  try {
    const { renewalInfo } = ((await call(directory, 'GET', directory.url)).body ?? {}) as Record<string, unknown>;
    if (typeof renewalInfo !== 'string') return found;
    // One after another: an organization may have many certificates of one authority.
    for (const identifier of identifiers) {
      found.push(readWindow(await call(directory, 'GET', `${renewalInfo}/${identifier}`)));
    }
  } catch {
    // The others are asked again with the next questions.
  }
  return found;
}

function readWindow({ status, body, retryAfter }: Answer): RenewalInfo | null {
  const window = (body as { suggestedWindow?: { start?: unknown; end?: unknown } } | null)?.suggestedWindow;
  const [start, end] = [window?.start, window?.end].map((time) => new Date(String(time)));
  // A window that ends before it starts is invalid (RFC 9773, section 4.2).
  if (status !== 200 || start === undefined || end === undefined || !(start < end)) return null;
  const seconds = Number(retryAfter);
  return { start, end, retryAfterMs: retryAfter === '' || !(seconds >= 0) ? null : seconds * 1000 };
}

function call({ caPem }: Directory, method: string, url: string, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      'user-agent': 'fairlead',
      ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }),
    };
    const options = { method, headers, signal: AbortSignal.timeout(timeoutMs), ...(caPem === '' ? {} : { ca: caPem }) };
    const sent = request(url, options, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > bodyBytesMax) sent.destroy(new Error('its answer is too large'));
        else parts.push(part);
      });
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        try {
          const nonce = String(response.headers['replay-nonce'] ?? '');
          const retryAfter = response.headers['retry-after'] ?? '';
          resolve({ status: response.statusCode ?? 0, nonce, retryAfter, body: text === '' ? null : JSON.parse(text) });
        } catch {
          reject(new Error(`its answer with status ${response.statusCode} can't be read`));
        }
      });
    });
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
