// Reads what an app's webhook receives: a push of GitLab, Gitea, Forgejo or GitHub, or the few fields of a script.
import { z } from 'zod';
import { branchSchema, refSchema } from '../source/schema.ts';
import { changedFiles, isZero, parseGithubPush } from './parse-github.ts';
import { fullRefSchema, headRef, objectHashSchema, type PushEvent } from './push-event.ts';

const gitlabSchema = z.object({
  object_kind: z.enum(['push', 'tag_push']),
  ref: fullRefSchema,
  before: objectHashSchema,
  after: objectHashSchema,
  checkout_sha: objectHashSchema.nullish(),
  user_username: z.string().nullish(),
  user_name: z.string().nullish(),
  project: z.object({
    id: z.number().int(),
    path_with_namespace: z.string(),
    default_branch: z.string().nullish(),
    git_http_url: z.string().nullish(),
    git_ssh_url: z.string().nullish(),
    web_url: z.string().nullish(),
  }),
  commits: z
    .array(
      z.object({
        id: objectHashSchema,
        message: z.string(),
        author: z.object({ name: z.string().nullish() }).nullish(),
        added: z.array(z.string()).nullish(),
        removed: z.array(z.string()).nullish(),
        modified: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
  total_commits_count: z.number().nullish(),
});

/** Fields of a script's request; all have defaults. */
const scriptSchema = z.strictObject({
  /** Branch, or a full name such as refs/tags/v1. Default: the branch that the environment follows. */
  ref: branchSchema.default(''),
  /** Default: the newest commit of the ref. */
  commit: objectHashSchema.nullish(),
  message: z.string().max(10_000).default(''),
  author: z.string().max(200).default(''),
  /** Default: unknown, so that watch paths don't skip it. */
  changedFiles: z.array(z.string().max(4096)).max(10_000).nullish(),
});

/** Throws a ZodError for another shape. */
export function parseWebhookPush(payload: unknown): PushEvent {
  if (isObject(payload) && 'object_kind' in payload) return parseGitlab(payload);
  if (isObject(payload) && 'repository' in payload) return parseGithubPush(payload);
  return parseScript(payload);
}

function parseGitlab(payload: unknown): PushEvent {
  const push = gitlabSchema.parse(payload);
  const { project } = push;
  const deleted = isZero(push.after);
  const commits = push.commits ?? [];
  const hash = deleted ? null : (push.checkout_sha ?? push.after);
  const head = commits.find(({ id }) => id === hash);
  const complete = !isZero(push.before) && commits.length > 0 && (push.total_commits_count ?? 0) <= commits.length;
  return {
    repository: {
      id: String(project.id),
      name: project.path_with_namespace,
      urls: [project.git_http_url, project.git_ssh_url, project.web_url].filter((url) => typeof url === 'string'),
      defaultBranch: project.default_branch ?? null,
    },
    ref: push.ref,
    before: push.before,
    after: deleted ? null : push.after,
    commitHash: hash,
    commitMessage: head?.message ?? '',
    commitAuthor: head?.author?.name ?? '',
    changedFiles: complete ? changedFiles(commits) : null,
    deleted,
    forced: false,
    sender: push.user_username ?? push.user_name ?? '',
    senderId: null,
    pushedAt: null,
  };
}

function parseScript(payload: unknown): PushEvent {
  const { ref, commit, message, author, changedFiles: files } = scriptSchema.parse(payload);
  const fullRef = ref === '' ? headRef : ref.startsWith('refs/') ? ref : `refs/heads/${refSchema.parse(ref)}`;
  return {
    repository: { id: null, name: '', urls: [], defaultBranch: null },
    ref: fullRef,
    before: null,
    after: commit ?? null,
    commitHash: commit ?? null,
    commitMessage: message,
    commitAuthor: author,
    changedFiles: files ?? null,
    deleted: false,
    forced: false,
    sender: '',
    senderId: null,
    pushedAt: null,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
