// Packs a folder into one encrypted file and unpacks it: tar, zstd, age. Invariant: plain bytes never reach the disk of
// the target.
import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { create, extract } from 'tar';

export interface RecoveryKey {
  /** Private key `AGE-SECRET-KEY-1…`, which opens every backup. */
  readonly identity: string;
  /** Public key `age1…`, which creates backups and opens none. */
  readonly recipient: string;
}

export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

export async function newRecoveryKey(): Promise<RecoveryKey> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

/** Writes `entries` of `folder` into `file` with mode 0600; the file appears only when it is complete. */
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
 * Unpacks an archive of `pack`: only plain files and folders at or below `entries`, because the encryption does not
 * authenticate the sender. Throws an ArchiveError when the key does not fit, the file is incomplete, or it contains
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
  return folder.split('/').every((part, index) => parts[index] === part) && !parts.includes('..');
}

/** Rejects links and devices: a write or a later read would follow a link. */
function isPlain(entry: object): boolean {
  return 'type' in entry && (entry.type === 'File' || entry.type === 'Directory');
}
