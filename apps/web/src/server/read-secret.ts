// Reads a secret from its file. Invariant: no error contains the secret.
import { readFile } from 'node:fs/promises';

export async function readSecret(path: string): Promise<string> {
  const secret = (await readFile(path, 'utf8')).trim();
  if (secret === '') throw new Error(`${path} is empty`);
  return secret;
}
