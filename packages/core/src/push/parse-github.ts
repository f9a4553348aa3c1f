// Reads the payload of GitHub's push event. Gitea and Forgejo send the same shape.
import { z } from 'zod';
import { fullRefSchema, objectHashSchema, type PushEvent } from './push-event.ts';

const personSchema = z.object({
  name: z.string().nullish(),
  username: z.string().nullish(),
  login: z.string().nullish(),
});
const pathsSchema = z.array(z.string()).nullish();

const commitSchema = z.object({
  id: objectHashSchema,
  message: z.string(),
  author: personSchema.nullish(),
  added: pathsSchema,
  removed: pathsSchema,
  modified: pathsSchema,
});
type Commit = z.infer<typeof commitSchema>;

const payloadSchema = z.object({
  ref: fullRefSchema,
  before: objectHashSchema,
  after: objectHashSchema,
  created: z.boolean().optional(),
  deleted: z.boolean().optional(),
  forced: z.boolean().optional(),
  commits: z.array(commitSchema).nullish(),
  head_commit: commitSchema.nullish(),
  /** Gitea: number of all commits, of which it lists some. */
  total_commits: z.number().optional(),
  repository: z.object({
    id: z.number().int(),
    full_name: z.string(),
    default_branch: z.string().nullish(),
    clone_url: z.string().nullish(),
    ssh_url: z.string().nullish(),
    html_url: z.string().nullish(),
    /** Seconds; other events of GitHub have a date. */
    pushed_at: z.union([z.number(), z.string()]).nullish(),
  }),
  pusher: personSchema.nullish(),
  sender: personSchema.extend({ id: z.number().int().nullish() }).nullish(),
});

/** Maximum number of commits that GitHub lists. */
const commitsMax = 2048;

/** Throws a ZodError for another shape. */
export function parseGithubPush(payload: unknown): PushEvent {
  const push = payloadSchema.parse(payload);
  const { repository } = push;
  const deleted = push.deleted ?? isZero(push.after);
  const commits = push.commits ?? [];
  const head = push.head_commit ?? commits.find(({ id }) => id === push.after) ?? null;
  const after = deleted ? null : push.after;
  return {
    repository: {
      id: String(repository.id),
      name: repository.full_name,
      urls: [repository.clone_url, repository.ssh_url, repository.html_url].filter((url) => typeof url === 'string'),
      defaultBranch: repository.default_branch ?? null,
    },
    ref: push.ref,
    before: push.before,
    after,
    commitHash: after === null ? null : (head?.id ?? after),
    commitMessage: head?.message ?? '',
    commitAuthor: nameOf(head?.author),
    changedFiles: isListComplete(push, commits) ? changedFiles(commits) : null,
    deleted,
    forced: push.forced ?? false,
    sender: push.sender?.login ?? push.sender?.username ?? nameOf(push.pusher),
    senderId: push.sender?.id ?? null,
    pushedAt: typeof repository.pushed_at === 'number' ? new Date(repository.pushed_at * 1000) : null,
  };
}

/** A new ref or a forced push leaves out commits that the host knew before, and lists are cut. */
function isListComplete(push: z.infer<typeof payloadSchema>, commits: readonly Commit[]): boolean {
  const { created, forced, before, total_commits: total } = push;
  if (created === true || forced === true || isZero(before) || commits.length === 0) return false;
  return commits.length < commitsMax && (total === undefined || total <= commits.length);
}

/** Null if the host names no files. */
export function changedFiles(
  commits: readonly Pick<Commit, 'added' | 'removed' | 'modified'>[],
): readonly string[] | null {
  const files = new Set<string>();
  for (const { added, removed, modified } of commits) {
    if (added == null && removed == null && modified == null) return null;
    for (const path of [...(added ?? []), ...(removed ?? []), ...(modified ?? [])]) files.add(path);
  }
  return [...files];
}

export function isZero(hash: string): boolean {
  return /^0+$/.test(hash);
}

function nameOf(person: z.infer<typeof personSchema> | null | undefined): string {
  return person?.name ?? person?.username ?? person?.login ?? '';
}
