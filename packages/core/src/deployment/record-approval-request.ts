// Takes a request for approval that nobody was notified of, with those who may approve it.
import { parseId } from '@fairlead/contract/ids';
import { requestApprovalJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import { describeCommit, type OrganizationCtx } from '../kernel/index.ts';
import { listRights, may } from '../role/index.ts';
import type { DeploymentRef } from './schema.ts';

export interface ApprovalRequest {
  readonly organizationName: string;
  readonly organizationSlug: string;
  readonly deploymentId: string;
  readonly number: number;
  readonly appName: string;
  readonly environmentName: string;
  /** Subject, short hash and author. */
  readonly commit: string;
  /** Null: the system requested it. */
  readonly requesterName: string | null;
  /** Addresses of members who may approve it: neither its requester nor the member who retried it. */
  readonly recipients: readonly string[];
}

/** Notifies those who may approve it, after the transaction. */
export async function enqueueApprovalRequest(ctx: OrganizationCtx, deploymentId: string): Promise<void> {
  const { organizationId } = ctx;
  await enqueue(ctx.tx, requestApprovalJob, { organizationId, deploymentId: parseId('dep', deploymentId) });
}

/** Records that the request is sent now; null if it was sent before, or is decided. */
export async function recordApprovalRequest(
  ctx: OrganizationCtx,
  { deploymentId }: DeploymentRef,
): Promise<ApprovalRequest | null> {
  const { tx, organizationId } = ctx;
  const { count } = await tx.deploymentApproval.updateMany({
    where: { organizationId, deploymentId, state: 'pending', notifiedAt: null, deployment: { state: 'queued' } },
    data: { notifiedAt: ctx.clock.now() },
  });
  if (count === 0) return null;
  const { app, environment, requestedByUserId, actorUserId, ...deployment } = await tx.deployment.findFirstOrThrow({
    where: { id: deploymentId, organizationId },
    select: {
      number: true,
      ref: true,
      commitHash: true,
      commitSubject: true,
      commitAuthor: true,
      requestedByUserId: true,
      actorUserId: true,
      app: { select: { name: true } },
      environment: {
        select: { id: true, name: true, projectId: true, organization: { select: { name: true, slug: true } } },
      },
    },
  });
  const scope = { projectId: environment.projectId, environmentId: environment.id };
  const members = await listRights(ctx);
  const approvers = members.filter(
    ({ userId, rights }) =>
      ![requestedByUserId, actorUserId].includes(userId) && may(rights, 'deployment.approve', scope),
  );
  const users = await tx.user.findMany({
    where: {
      id: {
        in: [...approvers.map(({ userId }) => userId), ...(requestedByUserId === null ? [] : [requestedByUserId])],
      },
    },
    select: { id: true, name: true, email: true },
    orderBy: { email: 'asc' },
  });
  return {
    organizationName: environment.organization.name,
    organizationSlug: environment.organization.slug,
    deploymentId,
    number: deployment.number,
    appName: app.name,
    environmentName: environment.name,
    commit: describeCommit(deployment),
    requesterName: users.find(({ id }) => id === requestedByUserId)?.name ?? null,
    recipients: users.filter(({ id }) => id !== requestedByUserId).map(({ email }) => email),
  };
}
