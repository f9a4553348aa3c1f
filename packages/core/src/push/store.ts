// Reads and writes deliveries and decisions.
// Invariant: one transaction at a time processes deliveries of an organization, and apps are locked after that.
import {
  type AppId,
  type DeliveryId,
  type DeploymentId,
  type EnvironmentId,
  newId,
  parseId,
} from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { KnownPush } from './decide-push.ts';
import type { PushSource } from './parse-push.ts';
import { type PushOutcome, type PushReason, pushOutcomeSchema, pushReasonSchema } from './schema.ts';

export interface DeliveryRow {
  readonly id: DeliveryId;
  readonly source: PushSource;
  readonly endpointId: string;
  readonly event: string;
  readonly state: string;
  readonly body: string;
  readonly sequence: bigint;
  readonly attempts: number;
}

/** Waits for other deliveries of the organization. Null if there is no such delivery. */
export async function lockDelivery(ctx: OrganizationCtx, deliveryId: DeliveryId): Promise<DeliveryRow | null> {
  const { tx, organizationId } = ctx;
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lockName(ctx)}, 0))::text`;
  const row = await tx.webhookDelivery.findFirst({
    where: { id: deliveryId, organizationId },
    select: { source: true, endpointId: true, event: true, state: true, body: true, sequence: true, attempts: true },
  });
  return row === null ? null : { ...row, id: deliveryId, source: row.source === 'github' ? 'github' : 'app' };
}

function lockName({ organizationId }: OrganizationCtx): string {
  return `webhook_delivery ${organizationId}`;
}

/** Maximum number of earlier pushes that are compared; older ones are never newer than a new push. */
const knownMax = 200;

/** Returns the newest pushes to a ref that were decided for the app in the environment. */
export async function loadKnownPushes(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
  ref: string,
): Promise<KnownPush[]> {
  const rows = await tx.$queryRaw<
    (Omit<KnownPush, 'outcome' | 'reason'> & { readonly outcome: string; readonly reason: string })[]
  >`
    SELECT delivery.id AS "deliveryId", delivery.before, delivery.after, delivery.pushed_at AS "pushedAt",
           delivery.sequence, decision.outcome, decision.reason, deployment.number AS "deploymentNumber"
    FROM push_decision AS decision JOIN webhook_delivery AS delivery ON delivery.id = decision.delivery_id
    LEFT JOIN deployment ON deployment.id = decision.deployment_id
    WHERE decision.organization_id = ${organizationId} AND decision.app_id = ${appId}
      AND decision.environment_id = ${environmentId} AND decision.ref = ${ref}
    ORDER BY delivery.sequence DESC LIMIT ${knownMax}`;
  return rows.reverse().map((row) => ({
    ...row,
    outcome: pushOutcomeSchema.parse(row.outcome),
    reason: pushReasonSchema.parse(row.reason),
  }));
}

export interface NewDecision {
  readonly deliveryId: string;
  readonly appId: AppId;
  readonly environmentId: EnvironmentId;
  readonly ref: string;
  readonly outcome: PushOutcome;
  readonly reason: PushReason;
  readonly detail: string;
  readonly deploymentId: DeploymentId | null;
}

/** Replaces an earlier decision about the same push, app and environment. */
export async function writeDecision(ctx: OrganizationCtx, decision: NewDecision): Promise<void> {
  const { deliveryId, appId, environmentId, ref, outcome, reason, detail, deploymentId } = decision;
  const data = { outcome, reason, detail, deploymentId, decidedAt: ctx.clock.now() };
  const key = { deliveryId, appId, environmentId };
  await ctx.tx.pushDecision.upsert({
    where: { deliveryId_appId_environmentId: key },
    create: { ...key, ...data, id: newId('pdc'), organizationId: ctx.organizationId, ref },
    update: data,
  });
}

/** False if another transaction processes a delivery of the organization, which this one then need not wait for. */
export async function tryProcessing(ctx: OrganizationCtx): Promise<boolean> {
  const [lock] = await ctx.tx.$queryRaw<{ isFree: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${lockName(ctx)}, 0)) AS "isFree"`;
  return lock?.isFree === true;
}

/** Returns the oldest delivery that waits; null if none is due. */
export async function findNextDelivery({ tx, organizationId, clock }: OrganizationCtx): Promise<DeliveryId | null> {
  const row = await tx.webhookDelivery.findFirst({
    where: { organizationId, state: 'received', nextAttemptAt: { lte: clock.now() } },
    select: { id: true },
    orderBy: { sequence: 'asc' },
  });
  return row === null ? null : parseId('dlv', row.id);
}

export async function findDecision(
  { tx }: OrganizationCtx,
  key: { readonly deliveryId: string; readonly appId: string; readonly environmentId: string },
) {
  const row = await tx.pushDecision.findUnique({
    where: { deliveryId_appId_environmentId: key },
    select: { outcome: true, deploymentId: true },
  });
  if (row === null) return null;
  return { outcome: row.outcome, deploymentId: row.deploymentId === null ? null : parseId('dep', row.deploymentId) };
}
