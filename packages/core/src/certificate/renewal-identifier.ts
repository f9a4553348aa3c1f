// Identifier of a certificate in questions about its renewal (RFC 9773, section 4.1): the key identifier of its issuer and its
// serial number. Pure.
import { X509Certificate } from 'node:crypto';

/** OBJECT IDENTIFIER 2.5.29.35, authorityKeyIdentifier (RFC 5280, section 4.2.1.1). */
const extensionId = Buffer.from('0603551d23', 'hex');
const octetString = 0x04;
const sequence = 0x30;
const keyIdentifier = 0x80;

/** Null for a certificate that names no key of its issuer. `leaf` is DER. */
export function renewalIdentifier(leaf: Uint8Array): string | null {
  const der = Buffer.from(leaf);
  const start = der.indexOf(extensionId);
  if (start < 0) return null;
  const extension = read(der, start + extensionId.length, octetString);
  const names = extension && read(extension, 0, sequence);
  const key = names && read(names, 0, keyIdentifier);
  if (!key) return null;
  const hex = new X509Certificate(der).serialNumber;
  const serial = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  // An INTEGER of DER whose first bit is set would be negative.
  const isNegative = (serial[0] ?? 0) >= 0x80;
  const value = isNegative ? Buffer.concat([Buffer.of(0), serial]) : serial;
  return `${key.toString('base64url')}.${value.toString('base64url')}`;
}

/** Returns the contents of an element in short form; null if there is another one. */
function read(der: Buffer, at: number, tag: number): Buffer | null {
  const length = der[at + 1];
  if (der[at] !== tag || length === undefined || length >= 0x80 || at + 2 + length > der.length) return null;
  return der.subarray(at + 2, at + 2 + length);
}
