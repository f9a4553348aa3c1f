// One encrypted file out of a folder, and back: tar, zstd, age. The plain bytes never touch the target's disk.
import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { create, extract } from 'tar';

export interface RecoveryKey {
  /** `AGE-SECRET-KEY-1…`: opens every backup. */
  readonly identity: string;
  /** `age1…`: makes backups and opens none. */
  readonly recipient: string;
}

export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

export async function newRecoveryKey(): Promise<RecoveryKey> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

/** Writes `entries` of `folder` into `file`, which appears only when it is whole. Mode 0600. */
export async function pack(folder: string, entries: readonly string[], file: string, recipient: string): Promise<void> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const packed = Readable.from(create({ cwd: folder, portable: true }, [...entries]));
  const compressed = packed.pipe(createZstdCompress());
  packed.on('error', (error) => compressed.destroy(error));
  const partial = `${file}.partial`;
  try {
    const sealed = await encrypter.encrypt(Readable.toWeb(compressed) as ReadableStream<Uint8Array>);
    await pipeline(Readable.fromWeb(sealed as never), createWriteStream(partial, { mode: 0o600, flush: true }));
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/**
 * Unpacks what `pack` made: plain files and folders at or below `entries`, and nothing else, because the encryption tells
 * whom a file is for, not whom it is from. Throws an ArchiveError when the key does not fit, the file is not whole, or it holds
 * anything else.
 */
export async function unpack(
  file: string,
  folder: string,
  entries: readonly string[],
  identity: string,
): Promise<void> {
  const decrypter = new Decrypter();
  try {
    decrypter.addIdentity(identity.trim());
  } catch (error) {
    throw new ArchiveError('that is not a recovery key: it begins with AGE-SECRET-KEY-1', { cause: error });
  }
  const strange: string[] = [];
  try {
    const opened = await decrypter.decrypt(Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>);
    const keep = (path: string, entry: object): boolean => {
      const isKept = entries.some((wanted) => isWithin(path, wanted)) && isPlain(entry);
      if (!isKept) strange.push(path);
      return isKept;
    };
    const target = extract({ cwd: folder, preserveOwner: false, strict: true, filter: keep });
    await pipeline(Readable.fromWeb(opened as never), createZstdDecompress(), target as unknown as Writable);
  } catch (error) {
    throw new ArchiveError(`${file} could not be opened: ${(error as Error).message}`, { cause: error });
  }
  if (strange.length > 0) throw new ArchiveError(`${file} holds ${strange[0]}, which no backup of ours does`);
}

function isWithin(path: string, folder: string): boolean {
  const parts = path.split('/');
  return parts[0] === folder && !parts.includes('..');
}

/** No link and no device: what a link leads to would be written, or read later. */
function isPlain(entry: object): boolean {
  return 'type' in entry && (entry.type === 'File' || entry.type === 'Directory');
}
