// Files of a release feed: a folder, or an https address that the operator set.
import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** Failure with a sentence for operators. */
export class ReleaseFileError extends Error {
  override readonly name = 'ReleaseFileError';
}

const TIMEOUT_MS = 20_000;

/** Returns a function that reads a file whole, up to `bytesMax`. */
export function openReleaseFiles(location: string): (name: string, bytesMax: number) => Promise<Uint8Array> {
  const base = location.replace(/\/+$/, '');
  return base.startsWith('https://')
    ? (name, bytesMax) => download(`${base}/${name}`, bytesMax)
    : (name, bytesMax) => readBounded(join(base, name), bytesMax);
}

async function download(url: string, bytesMax: number): Promise<Uint8Array> {
  const unreachable = (error: unknown) => {
    throw new ReleaseFileError(`${url} did not answer${reasonOf(error)}.`, { cause: error });
  };
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(unreachable);
  if (!response.url.startsWith('https://')) throw new ReleaseFileError(`${url} leads to an address without https.`);
  if (!response.ok || response.body === null) throw new ReleaseFileError(`${url} answers ${response.status}.`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of response.body) {
      bytes += part.length;
      if (bytes > bytesMax) throw new ReleaseFileError(`${url} is longer than ${bytesMax} bytes.`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof ReleaseFileError) throw error;
    unreachable(error);
  }
  return Buffer.concat(parts);
}

async function readBounded(path: string, bytesMax: number): Promise<Uint8Array> {
  const file = await open(path).catch((error: unknown) => {
    throw new ReleaseFileError(`${path} could not be read${reasonOf(error)}.`, { cause: error });
  });
  try {
    const { size } = await file.stat();
    if (size > bytesMax) throw new ReleaseFileError(`${path} is longer than ${bytesMax} bytes.`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function reasonOf(error: unknown): string {
  const { code, cause } = error as NodeJS.ErrnoException;
  const reason = code ?? (cause as NodeJS.ErrnoException | undefined)?.code;
  return reason === undefined ? '' : ` (${reason})`;
}
