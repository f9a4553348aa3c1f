// Text rules that several features share: names, slugs and foreign text. Pure.
import { z } from 'zod';

// Control characters, bidirectional overrides and zero-width characters let one name pose as another.
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const nameSchema = z
  .string()
  .trim()
  .min(1, 'Enter a name.')
  .max(60, 'A name has at most 60 characters.')
  .refine((name) => !invisible.test(name), 'A name has no line breaks or invisible characters.');

export const slugSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'A slug has lower-case letters, digits and inner dashes.');

/** Converts "Shop – Café" to "shop-cafe"; empty if no character of the name is usable. */
export function toSlug(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '');
}

/** Returns "shop", or "shop-2" when another row has it. */
export function firstFreeSlug(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted;
  for (let suffix = 2; ; suffix += 1) {
    const slug = `${wanted}-${suffix}`;
    if (!taken.has(slug)) return slug;
  }
}

/** Clips an agent's text for storage: PostgreSQL refuses NUL, and a megabyte of detail is useless. */
export function clipText(text: string, lengthMax: number): string {
  return text.replaceAll('\0', '').slice(0, lengthMax);
}

const styles = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');

/** Removes the colors of a log line. The agent keeps no other escape sequence. */
export function withoutStyles(line: string): string {
  return line.replace(styles, '');
}

/** Removes the folders of a server's PATH, which older agents quote in their messages. */
export function withoutServerPath(message: string): string {
  return message.replace(/ in PATH \([^)]*\)/g, ' in PATH');
}

export interface CommitText {
  readonly commitHash?: string | null;
  readonly commitSubject?: string | null;
  readonly commitAuthor?: string | null;
  /** Requested branch, tag or commit; empty: the default branch. */
  readonly ref?: string;
}

/** Names a commit in a sentence: subject, short hash and author, or the ref before the commit is known. */
export function describeCommit({ commitHash, commitSubject, commitAuthor, ref }: CommitText): string {
  if (!commitHash) return ref ? `Newest commit of ${ref}` : 'Newest commit of the default branch';
  const hash = commitHash.slice(0, 7);
  const subject = commitSubject ? `${commitSubject} (${hash})` : `Commit ${hash}`;
  return commitAuthor ? `${subject} by ${commitAuthor}` : subject;
}
