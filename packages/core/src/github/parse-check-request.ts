// Reads what a person asked for on a check run or a check suite at GitHub.
import { createHash } from 'node:crypto';
import { isId } from '@fairlead/contract/ids';
import { z } from 'zod';

export type CheckRequestKind = 'rerun' | 'rollback' | 'promote';

export interface CheckRequest {
  readonly kind: CheckRequestKind;
  /** Identifier of the pressed button; empty for a re-run. */
  readonly identifier: string;
  /** Deployment of the check run; null: every app that reported about the commit. */
  readonly deploymentId: string | null;
  readonly commitHash: string;
  readonly repositoryId: number;
  readonly repositoryName: string;
  readonly sender: { readonly githubUserId: number; readonly login: string };
}

const commonSchema = z.object({
  repository: z.object({ id: z.number().int(), full_name: z.string() }),
  sender: z.object({ id: z.number().int(), login: z.string().regex(/^[\w.[\]-]{1,100}$/) }),
});
const hashSchema = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const checkRunSchema = commonSchema.extend({
  action: z.enum(['rerequested', 'requested_action']),
  check_run: z.object({ head_sha: hashSchema, external_id: z.string().nullish() }),
  requested_action: z.object({ identifier: z.string().max(20) }).nullish(),
});
const checkSuiteSchema = commonSchema.extend({
  action: z.literal('rerequested'),
  check_suite: z.object({ head_sha: hashSchema }),
});
const actionSchema = z.object({ action: z.string() });

export function isCheckEvent(event: string): boolean {
  return event === 'check_run' || event === 'check_suite';
}

/** Null: an event that asks for nothing. Throws a ZodError or a SyntaxError for another shape. */
export function parseCheckRequest(event: string, body: string): CheckRequest | null {
  const payload: unknown = JSON.parse(body);
  const { action } = actionSchema.parse(payload);
  if (event === 'check_suite') {
    if (action !== 'rerequested') return null;
    const { check_suite: suite, ...common } = checkSuiteSchema.parse(payload);
    return { ...commonOf(common), kind: 'rerun', identifier: '', deploymentId: null, commitHash: suite.head_sha };
  }
  if (action !== 'rerequested' && action !== 'requested_action') return null;
  const { check_run: run, requested_action: requested, ...common } = checkRunSchema.parse(payload);
  const identifier = action === 'rerequested' ? '' : (requested?.identifier ?? '');
  const kind = kindOf(identifier);
  const deploymentId = run.external_id ?? '';
  // A check run of another maker has another id, and no button of ours.
  if (kind === null || !isId('dep', deploymentId)) return null;
  return { ...commonOf(common), kind, identifier, deploymentId, commitHash: run.head_sha };
}

/** Returns the SHA-256 of a body, whatever the order and spacing of its fields: GitHub's log has other ones than a delivery. */
export function requestHash(body: string): string {
  return createHash('sha256')
    .update(JSON.stringify(JSON.parse(body), sortFields))
    .digest('hex');
}

function sortFields(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function kindOf(identifier: string): CheckRequestKind | null {
  if (identifier === '') return 'rerun';
  if (identifier === 'rollback') return 'rollback';
  return identifier.startsWith('promote') ? 'promote' : null;
}

function commonOf({ repository, sender }: z.infer<typeof commonSchema>) {
  return {
    repositoryId: repository.id,
    repositoryName: repository.full_name,
    sender: { githubUserId: sender.id, login: sender.login },
  };
}
