// Packs a folder into one encrypted file and unpacks it: tar, zstd, age. Invariant: plain bytes never reach the disk of
// the target.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync, renameSync, rmSync } from 'node:fs';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { extract, Header, Pack, ReadEntry } from 'tar';

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

/** File from outside of the packed folder. */
export interface ForeignFile {
  /** Path in the archive, below one of its entries. It replaces a file of the folder. */
  readonly as: string;
  readonly from: string;
}

/**
 * Writes `entries` of `folder` into `file` with mode 0600, and reads it back. The file appears only when it is complete
 * and opens to the bytes that were packed.
 */
export async function pack(
  folder: string,
  entries: readonly string[],
  file: string,
  recipient: string,
  foreign?: ForeignFile,
): Promise<void> {
  const encrypter = new Encrypter();
  try {
    encrypter.addRecipient(recipient);
  } catch (error) {
    throw new ArchiveError('that is not a public recovery key: one begins with age1', { cause: error });
  }
  // This process can read the file back with a key of its own, which it never stores. The recovery key is elsewhere.
  const proof = await newRecoveryKey();
  encrypter.addRecipient(proof.recipient);
  const packed = Readable.from(packEntries(folder, entries, foreign));
  const hashed = new PassThrough();
  const written = createHash('sha256');
  hashed.on('data', (chunk: Buffer) => written.update(chunk));
  const compressed = packed.pipe(hashed).pipe(createZstdCompress());
  packed.on('error', (error) => compressed.destroy(error));
  const partial = `${file}.partial`;
  try {
    const sealed = await encrypter.encrypt(Readable.toWeb(compressed) as ReadableStream<Uint8Array>);
    await pipeline(Readable.fromWeb(sealed as never), createWriteStream(partial, { mode: 0o600, flush: true }));
    await requireContent(partial, proof.identity, written);
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** Throws unless the file opens to the bytes that `written` hashed. */
async function requireContent(file: string, identity: string, written: Hash): Promise<void> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const read = createHash('sha256');
  try {
    const opened = await decrypter.decrypt(Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>);
    await pipeline(Readable.fromWeb(opened as never), createZstdDecompress(), read);
  } catch (error) {
    throw new ArchiveError(`${file} could not be read back: ${(error as Error).message}`, { cause: error });
  }
  if (read.digest('hex') !== written.digest('hex'))
    throw new ArchiveError(`${file} does not hold what was written: check its disk`);
}

/** Packs a foreign file from memory, so that its bytes reach the disk in encrypted form only. */
function packEntries(folder: string, entries: readonly string[], foreign: ForeignFile | undefined): Pack {
  const archive = new Pack({
    cwd: folder,
    portable: true,
    filter: (path, entry) => entry instanceof ReadEntry || path !== foreign?.as,
  });
  if (foreign !== undefined) {
    const bytes = readForeign(foreign.from);
    const header = new Header({ path: foreign.as, mode: 0o600, size: bytes.length, type: 'File', mtime: new Date(0) });
    const entry = new ReadEntry(header);
    entry.end(bytes);
    archive.add(entry);
  }
  for (const entry of entries) archive.add(entry);
  archive.end();
  return archive;
}

function readForeign(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ArchiveError(`the backup would lack the master key: ${file} cannot be read (${code})`, { cause: error });
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
