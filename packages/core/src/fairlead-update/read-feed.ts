// Reads the release that a feed of updates offers. Invariant: returns nothing that no pinned key has signed.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { verifyMinisign } from './minisign.ts';
import { versionSchema } from './versions.ts';

/** Reads one file of the feed. Rejects with a sentence for operators if it is missing or longer. */
export type ReadFeedFile = (name: string, bytesMax: number) => Promise<Uint8Array>;

export interface FeedRelease {
  readonly version: string;
  readonly releasedAt: Date;
  /** Text in Markdown. */
  readonly changelog: string;
}

export type FeedCheck =
  | { readonly release: FeedRelease; readonly failure: null }
  | { readonly release: null; readonly failure: string };

const LIST_BYTES_MAX = 64 * 1024;
const NOTES_BYTES_MAX = 256 * 1024;
const CHANGELOG_LENGTH_MAX = 20_000;
const CHECKSUMS = 'SHA256SUMS';

/** File that `npm run release` writes. */
const notesSchema = z.object({ releasedAt: z.coerce.date(), changelog: z.string() });

/** Returns a failure as data: it is what operators need to know. */
export async function checkFeed(read: ReadFeedFile, publicKeys: readonly string[]): Promise<FeedCheck> {
  try {
    return { release: await readRelease(read, publicKeys), failure: null };
  } catch (error) {
    return { release: null, failure: error instanceof Error ? error.message : String(error) };
  }
}

async function readRelease(read: ReadFeedFile, publicKeys: readonly string[]): Promise<FeedRelease> {
  const signature = Buffer.from(await read(`${CHECKSUMS}.minisig`, LIST_BYTES_MAX)).toString();
  const checksums = await read(CHECKSUMS, LIST_BYTES_MAX);
  const comment = verifyMinisign(checksums, signature, publicKeys);
  if (comment === null) throw new Error('The signature of SHA256SUMS is wrong, so the release was ignored.');
  const version = /^fairlead (\S+) SHA256SUMS$/.exec(comment)?.[1];
  if (version === undefined || !versionSchema.safeParse(version).success)
    throw new Error('The signature of SHA256SUMS names no version.');
  const name = `fairlead-${version}.json`;
  const digest = new Map(
    Buffer.from(checksums)
      .toString()
      .split('\n')
      .map((line) => line.split('  ').reverse() as [string, string]),
  ).get(name);
  if (digest === undefined) throw new Error(`The release has no ${name}.`);
  const notes = await read(name, NOTES_BYTES_MAX);
  if (createHash('sha256').update(notes).digest('hex') !== digest)
    throw new Error(`${name} does not have the digest that was signed.`);
  const { releasedAt, changelog } = notesSchema.parse(JSON.parse(Buffer.from(notes).toString()));
  return { version, releasedAt, changelog: changelog.slice(0, CHANGELOG_LENGTH_MAX) };
}
