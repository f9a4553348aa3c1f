// Reads the payload of GitHub's pull_request event.
import { z } from 'zod';
import { clipText } from '../kernel/index.ts';
import { objectHashSchema } from '../source/schema.ts';

export interface PullRequest {
  readonly action: string;
  /** Id and name of the repository that it would be merged into. */
  readonly repositoryId: number;
  readonly repositoryName: string;
  readonly number: number;
  readonly title: string;
  /** Login of its author. */
  readonly author: string;
  readonly headRef: string;
  readonly headHash: string;
  /** Head comes from another repository, or from one that is gone. */
  readonly isFork: boolean;
  readonly isDraft: boolean;
  readonly isOpen: boolean;
  /** Time of the last change at GitHub, to the second. */
  readonly changedAt: Date;
  /** Person who caused the event. */
  readonly sender: string;
}

const payloadSchema = z.object({
  action: z.string(),
  repository: z.object({ id: z.number().int(), full_name: z.string() }),
  pull_request: z.object({
    number: z.number().int().positive(),
    title: z.string(),
    state: z.enum(['open', 'closed']),
    draft: z.boolean().nullish(),
    updated_at: z.iso.datetime(),
    user: z.object({ login: z.string() }).nullish(),
    head: z.object({
      ref: z.string().max(1000),
      sha: objectHashSchema,
      repo: z.object({ id: z.number().int() }).nullish(),
    }),
  }),
  sender: z.object({ login: z.string() }).nullish(),
});

/** Actions that change the preview. Labels, reviews and assignments change nothing. */
const actions: ReadonlySet<string> = new Set([
  'opened',
  'reopened',
  'synchronize',
  'ready_for_review',
  'converted_to_draft',
  'edited',
  'closed',
]);

/** Throws a ZodError for another shape, and a SyntaxError for what is no JSON. */
export function parsePullRequest(body: string): PullRequest {
  const { action, repository, pull_request: request, sender } = payloadSchema.parse(JSON.parse(body));
  return {
    action,
    repositoryId: repository.id,
    repositoryName: repository.full_name,
    number: request.number,
    title: storable(request.title),
    author: request.user?.login ?? '',
    headRef: request.head.ref,
    headHash: request.head.sha,
    isFork: request.head.repo?.id !== repository.id,
    isDraft: request.draft === true,
    isOpen: request.state === 'open',
    changedAt: new Date(request.updated_at),
    sender: sender?.login ?? '',
  };
}

export function changesPreview({ action }: Pick<PullRequest, 'action'>): boolean {
  return actions.has(action);
}

/** Leaves out what PostgreSQL refuses in a text, and what is too long for a line. */
function storable(text: string): string {
  return clipText(text, 300).toWellFormed();
}
