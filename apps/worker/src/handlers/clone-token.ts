// Gets the token that a build clones with, before its deployment advances. No transaction is held while GitHub answers.
import type { ErrorCode } from '@fairlead/contract/errors';
import type { OrganizationId } from '@fairlead/contract/ids';
import { findCloneNeed, recordCloneToken } from '@fairlead/core/github';
import { GithubError } from '@fairlead/github';
import type { HandlerParts } from './handler.ts';

interface Subject {
  readonly organizationId: OrganizationId;
  readonly deploymentId: string;
}

/** Returns why the source cannot be read, or null. Throws while GitHub is away: the job is repeated. */
export async function prepareClone(
  parts: HandlerParts,
  { organizationId, deploymentId }: Subject,
): Promise<ErrorCode | null> {
  const { database, secretKeys, github, clock, log } = parts;
  const need = await database.tenant(organizationId, (tx) =>
    findCloneNeed({ tx, organizationId, clock, log }, { deploymentId }, secretKeys),
  );
  if (need.kind === 'none') return null;
  if (need.kind === 'refused') return need.code;
  const { key, installationId, repositoryId } = need;
  const grant = { permissions: { contents: 'read', metadata: 'read' }, repositoryIds: [repositoryId] } as const;
  try {
    const token = await github.createToken(key, installationId, grant);
    await database.tenant(organizationId, (tx) =>
      recordCloneToken({ tx, organizationId, clock, log }, need, token, secretKeys),
    );
    return null;
  } catch (error) {
    if (!(error instanceof GithubError)) throw error;
    log.warn({ err: error, deploymentId }, 'GitHub gave no token for a clone');
    const code = refusals[error.code];
    if (code === undefined) throw error;
    return code;
  }
}

/** Failures that a retry does not fix. */
const refusals: Partial<Record<GithubError['code'], ErrorCode>> = {
  refused_address: 'github.address_refused',
  unauthorized: 'github.unauthorized',
  forbidden: 'github.forbidden',
  not_found: 'github.installation_gone',
  invalid: 'github.repository_lost',
};
