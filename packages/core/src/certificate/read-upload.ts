// Reads an uploaded chain with its private key, and checks everything that a handshake with visitors would fail on.
// Pure: `now` is a parameter.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { AppError, isPublicHost } from '../kernel/index.ts';

const chainLengthMax = 10;
/** The clock of the authority may be ahead. */
const clockSkewMs = 3_600_000;
const namesMax = 100;
const rsaBits = { min: 2048, max: 8192 };
const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384' };
const serverAuth = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';

export interface ReadUpload {
  /** Leaf first, each issued by the next. */
  readonly chain: readonly X509Certificate[];
  readonly leaf: X509Certificate;
  readonly names: readonly string[];
  readonly privateKey: KeyObject;
  /** Changes to the chain, in sentences. */
  readonly notes: readonly string[];
}

/** Throws an error of `certificate.…` that names the problem. */
export function readUpload(
  { chainPem, keyPem }: { readonly chainPem: string; readonly keyPem: string },
  now: Date,
): ReadUpload {
  const pasted = readCertificates(chainPem);
  const privateKey = readKey(keyPem);
  const leaf = pasted.find((certificate) => certificate.checkPrivateKey(privateKey));
  if (leaf === undefined) throw new AppError('certificate.key_mismatch');
  const chain = orderChain(leaf, pasted);
  if (chain.length < pasted.length) throw new AppError('certificate.chain_unrelated');
  if (!endsAtRoot(chain)) throw new AppError('certificate.chain_incomplete');
  requireValid(chain, now);
  requireForServers(leaf);
  const isShuffled = chain.some((certificate, at) => certificate !== pasted[at]);
  const notes = isShuffled ? ['The certificates were not in order. They are stored with the leaf first.'] : [];
  return { chain, leaf, names: namesOf(leaf), privateKey, notes };
}

function readCertificates(chainPem: string): X509Certificate[] {
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(chainPem)) throw new AppError('certificate.key_in_chain');
  const blocks = chainPem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length > chainLengthMax) throw new AppError('certificate.chain_too_long');
  try {
    const read = blocks.map((pem) => new X509Certificate(pem));
    // One that was pasted twice counts once.
    const distinct = [...new Map(read.map((certificate) => [certificate.fingerprint256, certificate])).values()];
    if (distinct.length > 0) return distinct;
  } catch (error) {
    throw new AppError('certificate.chain_invalid', {}, { cause: error });
  }
  throw new AppError('certificate.chain_invalid');
}

function readKey(keyPem: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:\s*4,\s*ENCRYPTED/.test(keyPem)) {
    throw new AppError('certificate.key_encrypted');
  }
  const [block, ...others] = keyPem.match(/-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----[^-]+-----END \1-----/g) ?? [];
  if (block === undefined || others.length > 0) throw new AppError('certificate.key_invalid');
  const key = parseKey(block);
  if (!isSupported(key)) throw new AppError('certificate.key_unsupported');
  return key;
}

function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    // The cause could quote parts of the key.
    throw new AppError('certificate.key_invalid');
  }
}

function isSupported({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'ed25519') return true;
  if (asymmetricKeyType === 'ec') return (asymmetricKeyDetails?.namedCurve ?? '') in curves;
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  return asymmetricKeyType === 'rsa' && bits >= rsaBits.min && bits <= rsaBits.max;
}

/** Returns the type of a public key, such as "RSA 2048". */
export function describeKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  const { modulusLength, namedCurve } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'ec') return `ECDSA ${curves[namedCurve ?? ''] ?? namedCurve ?? ''}`.trim();
  if (asymmetricKeyType === 'ed25519') return 'Ed25519';
  return modulusLength === undefined ? 'Other' : `RSA ${modulusLength}`;
}

function orderChain(leaf: X509Certificate, pasted: readonly X509Certificate[]): X509Certificate[] {
  const chain = [leaf];
  for (let last = leaf; ; ) {
    const current = last;
    const issuer = pasted.find((one) => !chain.includes(one) && isIssuedBy(current, one));
    if (issuer === undefined) return chain;
    chain.push(issuer);
    last = issuer;
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** True if the last certificate signs itself, or one of the public roots issued it. */
function endsAtRoot(chain: readonly X509Certificate[]): boolean {
  const last = chain.at(-1);
  if (last === undefined) return false;
  if (last.checkIssued(last) && last.verify(last.publicKey)) return true;
  return publicRoots().some((root) => isIssuedBy(last, root));
}

let roots: readonly X509Certificate[] | undefined;

function publicRoots(): readonly X509Certificate[] {
  roots ??= rootCertificates.map((pem) => new X509Certificate(pem));
  return roots;
}

function requireValid(chain: readonly X509Certificate[], now: Date): void {
  if (chain.some(({ validToDate }) => validToDate <= now)) throw new AppError('certificate.expired');
  const latest = new Date(now.getTime() + clockSkewMs);
  if (chain.some(({ validFromDate }) => validFromDate > latest)) throw new AppError('certificate.not_yet_valid');
}

/** Without the extension a certificate is for every use (RFC 5280, 4.2.1.12). */
function requireForServers({ keyUsage }: X509Certificate): void {
  const usages = keyUsage as readonly string[] | undefined;
  if (usages !== undefined && !usages.some((usage) => usage === serverAuth || usage === anyUsage)) {
    throw new AppError('certificate.not_for_servers');
  }
}

const namePattern = /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns the public DNS names of the leaf, lower-cased, each once. Names that are no host name are left out. */
function namesOf(leaf: X509Certificate): string[] {
  const text = leaf.subjectAltName ?? '';
  // Node quotes a name with separators in it; split, it could pose as another name.
  if (text.includes('"')) throw new AppError('certificate.names_invalid');
  const names = text.split(', ').flatMap((part) => (part.startsWith('DNS:') ? [part.slice(4).toLowerCase()] : []));
  const usable = [...new Set(names)].filter(
    (name) => name.length <= 253 && namePattern.test(name) && isPublicHost(name),
  );
  if (usable.length === 0 || usable.length > namesMax) throw new AppError('certificate.names_invalid');
  return usable;
}
