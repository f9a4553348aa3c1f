// Asks GitHub for the checks that deployments wait for, and starts or fails them.
import {
  claimCheckWaits,
  type DueCheckWait,
  deferCheckWait,
  loadCheckedCommit,
  recordChecks,
} from '@fairlead/core/deployment';
import type { Ctx } from '@fairlead/core/kernel';
import { GithubError } from '@fairlead/github';
import type { Handler, HandlerParts } from './handler.ts';

const permissions = { checks: 'read', statuses: 'read', metadata: 'read' } as const;

export const lookAtChecksHandler: Handler<'deployment.checks'> = async (parts) => {
  const { database, clock, turns } = parts;
  const due = await database.system('deployment.checks', (tx) =>
    claimCheckWaits({ tx, clock }, turns.busy('deployment.checks')),
  );
  await turns.runEach('deployment.checks', due, {
    work: (wait) => look(parts, wait),
    failed: 'the checks of a commit were not read',
  });
};

async function look(parts: HandlerParts, wait: DueCheckWait): Promise<void> {
  const { database, clock, log } = parts;
  const { organizationId, deploymentId } = wait;
  const actor = { kind: 'system', reason: 'deployment.checks' } as const;
  const tenant = <T>(work: (ctx: Ctx) => Promise<T>): Promise<T> =>
    database.tenant(organizationId, (tx) => work({ tx, organizationId, actor, clock, log }));
  try {
    const results = await listChecks(parts, wait, tenant);
    await tenant((ctx) => recordChecks(ctx, wait, results));
  } catch (error) {
    if (!(error instanceof GithubError)) throw error;
    log.warn({ err: error, deploymentId }, 'the checks of a commit could not be read');
    // The time limit also ends a wait that GitHub does not answer.
    await tenant((ctx) => recordChecks(ctx, wait, null));
    const { retryAt } = error;
    if (retryAt !== null) await tenant((ctx) => deferCheckWait(ctx, deploymentId, retryAt));
  }
}

/** Null: the repository is no longer linked. */
async function listChecks(
  { github, secretKeys }: HandlerParts,
  wait: DueCheckWait,
  tenant: <T>(work: (ctx: Ctx) => Promise<T>) => Promise<T>,
) {
  const commit = await tenant((ctx) => loadCheckedCommit(ctx, wait, secretKeys));
  if (commit === null) return null;
  const { key, installationId, repositoryId, fullName, commitHash } = commit;
  const { token } = await github.createToken(key, installationId, { permissions, repositoryIds: [repositoryId] });
  return github.listChecks({ baseUrl: key.baseUrl, token, fullName }, commitHash);
}
