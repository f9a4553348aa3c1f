// Certificate authority of the public URL, which new servers pin and people import into their browsers.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

export interface PublicAuthority {
  /** Certificate in PEM, encoded anew: it goes into a script. */
  readonly pem: string;
  /** SHA-256 of the certificate, in upper-case hex with colons. */
  readonly fingerprint: string;
}

/** Reads the file each time, because the local agent may create it after this process started. Null without a file. */
export async function readPublicAuthority(file: string | undefined): Promise<PublicAuthority | null> {
  if (file === undefined) return null;
  const certificate = new X509Certificate(await readFile(file));
  return { pem: certificate.toString(), fingerprint: certificate.fingerprint256 };
}
