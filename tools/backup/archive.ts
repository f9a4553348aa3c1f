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

/** Unpacks what `pack` made. Throws an ArchiveError when the key does not fit or the file is not whole. */
export async function unpack(file: string, folder: string, identity: string): Promise<void> {
  const decrypter = new Decrypter();
  try {
    decrypter.addIdentity(identity.trim());
  } catch (error) {
    throw new ArchiveError('that is not a recovery key: it begins with AGE-SECRET-KEY-1', { cause: error });
  }
  try {
    const opened = await decrypter.decrypt(Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>);
    const target = extract({ cwd: folder, preserveOwner: false, strict: true });
    await pipeline(Readable.fromWeb(opened as never), createZstdDecompress(), target as unknown as Writable);
  } catch (error) {
    throw new ArchiveError(`${file} could not be opened: ${(error as Error).message}`, { cause: error });
  }
}
