// A push as every git host reports it, in one form.
import { z } from 'zod';
import { clipText } from '../kernel/index.ts';

/** Ref of a request that names none: the branch that an environment follows. */
export const headRef = 'HEAD';

export { objectHashSchema } from '../source/schema.ts';

export interface PushEvent {
  readonly repository: {
    /** Id at the host, which stays when the repository is renamed; null: the host gave none. */
    readonly id: string | null;
    /** Owner and name. */
    readonly name: string;
    /** Addresses that clone it. */
    readonly urls: readonly string[];
    readonly defaultBranch: string | null;
  };
  /** Full name, such as refs/heads/main or refs/tags/v1. */
  readonly ref: string;
  /** Zeros: the ref did not exist. Null: the host gave none. */
  readonly before: string | null;
  /** Null: the ref was deleted, or the host gave none. */
  readonly after: string | null;
  /** Commit that `after` leads to; differs from it for an annotated tag. Null: the newest of the ref. */
  readonly commitHash: string | null;
  readonly commitMessage: string;
  readonly commitAuthor: string;
  /** Paths that changed from `before` to `after`; null: unknown. */
  readonly changedFiles: readonly string[] | null;
  readonly deleted: boolean;
  readonly forced: boolean;
  /** Person who pushed; empty: unknown. */
  readonly sender: string;
  /** Id of that person at the git host; null: unknown. */
  readonly senderId: number | null;
  /** Time of the push at its host; null: unknown. */
  readonly pushedAt: Date | null;
}

export type PushRef = { readonly kind: 'branch' | 'tag'; readonly name: string };

/** Returns null for a ref that is not a branch or a tag, such as notes. */
export function toPushRef(ref: string): PushRef | null {
  const [, folder, name] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? [];
  if (name === undefined) return null;
  return { kind: folder === 'heads' ? 'branch' : 'tag', name };
}

/** First line of a commit message. */
export function subjectOf(message: string): string {
  return storableText(message.trimStart().split(/\r?\n/, 1)[0]?.trimEnd() ?? '');
}

/** Leaves out what PostgreSQL refuses in a text, and what is too long for a line. */
export function storableText(text: string): string {
  return clipText(text, 300).toWellFormed();
}

/** Full name of a ref, without characters that git refuses in one. */
export const fullRefSchema = z
  .string()
  .max(1000)
  .regex(/^refs\/[^\s\p{Cc}]+$/u);
