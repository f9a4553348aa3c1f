// Reads deliveries for display, with the decisions that the reader may see.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { awaitsBuildSql } from '../deployment/index.ts';
import { deploymentStateSchema } from '../deployment/schema.ts';
import type { Ctx } from '../kernel/index.ts';
import { loadPreviewDecisions } from '../preview/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import {
  type DeliveryView,
  deliveryStateSchema,
  type PushDecisionView,
  pushOutcomeSchema,
  pushReasonSchema,
} from './schema.ts';

export interface DeliveryFilter {
  /** Without a reach everywhere, only deliveries with a decision that may be seen. */
  readonly reach: Reach;
  readonly id?: string | undefined;
  readonly appId?: string | undefined;
  readonly outcome?: string | undefined;
  /** Id of the last delivery of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function loadDeliveries(ctx: Ctx, filter: DeliveryFilter): Promise<DeliveryView[]> {
  const { organizationId, tx } = ctx;
  const conditions = [Prisma.sql`d.organization_id = ${organizationId}`];
  if (filter.id !== undefined) conditions.push(Prisma.sql`d.id = ${filter.id}`);
  if (filter.after !== undefined && filter.after !== null) {
    conditions.push(Prisma.sql`d.sequence < (
      SELECT last.sequence FROM webhook_delivery AS last
      WHERE last.id = ${filter.after} AND last.organization_id = ${organizationId})`);
  }
  const decided = [Prisma.sql`p.delivery_id = d.id`];
  if (filter.appId !== undefined) decided.push(Prisma.sql`p.app_id = ${filter.appId}`);
  if (filter.outcome !== undefined) decided.push(Prisma.sql`p.outcome = ${filter.outcome}`);
  if (decided.length > 1 || !filter.reach.everywhere) {
    const where = Prisma.join(decided, ' AND ');
    conditions.push(Prisma.sql`(
      EXISTS (SELECT 1 FROM push_decision AS p WHERE ${where} AND ${reachedBy(filter.reach)})
      OR EXISTS (SELECT 1 FROM preview_decision AS p WHERE ${where} AND ${previewsReachedBy(filter.reach)}))`);
  }
  const rows = await tx.$queryRaw<
    (Omit<DeliveryView, 'id' | 'state' | 'decisions' | 'previews'> & { id: string; state: string })[]
  >`
    SELECT id, source, event, state, problem, repository, ref, commit_hash AS "commitHash",
           commit_subject AS "commitSubject", commit_author AS "commitAuthor", sender, received_at AS "receivedAt",
           processed_at AS "processedAt"
    FROM webhook_delivery AS d WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY d.sequence DESC LIMIT ${filter.limit}`;
  const ids = rows.map(({ id }) => id);
  const decisions = await loadDecisions(ctx, ids, filter.reach);
  const previews = await loadPreviewDecisions(ctx, ids, previewsReachedBy(filter.reach));
  return rows.map((row) => ({
    ...row,
    id: parseId('dlv', row.id),
    state: deliveryStateSchema.parse(row.state),
    decisions: decisions.get(row.id) ?? [],
    previews: previews.get(row.id) ?? [],
  }));
}

interface DecisionRow {
  readonly deliveryId: string;
  readonly appId: string;
  readonly appName: string;
  readonly appSlug: string;
  readonly environmentId: string;
  readonly environmentName: string;
  readonly outcome: string;
  readonly reason: string;
  readonly detail: string;
  readonly deploymentId: string | null;
  readonly deploymentNumber: number | null;
  readonly deploymentState: string | null;
  readonly awaitsApproval: boolean;
  readonly awaitsBuild: boolean;
  readonly pendingChecks: string[];
  readonly failureMessage: string | null;
  readonly decidedAt: Date;
}

async function loadDecisions(
  { tx, organizationId }: Ctx,
  deliveryIds: readonly string[],
  reach: Reach,
): Promise<ReadonlyMap<string, PushDecisionView[]>> {
  const rows = await tx.$queryRaw<DecisionRow[]>`
    SELECT p.delivery_id AS "deliveryId", p.app_id AS "appId", app.name AS "appName", app.slug AS "appSlug",
           p.environment_id AS "environmentId", environment.name AS "environmentName", p.outcome, p.reason, p.detail,
           p.deployment_id AS "deploymentId", deployment.number AS "deploymentNumber",
           deployment.state AS "deploymentState", p.decided_at AS "decidedAt",
           deployment.failure_message AS "failureMessage",
           CASE WHEN deployment.state = 'queued' AND wait.due_at IS NOT NULL
             THEN wait.pending ELSE '{}' END AS "pendingChecks",
           deployment.state = 'queued' AND approval.state = 'pending' IS TRUE AS "awaitsApproval",
           ${awaitsBuildSql(Prisma.sql`deployment`)} AS "awaitsBuild"
    FROM push_decision AS p
    JOIN app ON app.id = p.app_id
    JOIN environment ON environment.id = p.environment_id
    LEFT JOIN deployment ON deployment.id = p.deployment_id
    LEFT JOIN deployment_approval AS approval ON approval.deployment_id = p.deployment_id
    LEFT JOIN deployment_check_wait AS wait ON wait.deployment_id = p.deployment_id
    WHERE p.organization_id = ${organizationId} AND p.delivery_id = ANY(${[...deliveryIds]}::text[])
      AND ${reachedBy(reach)}
    ORDER BY app.name, environment.created_at, environment.id`;
  const views = rows.map(({ deliveryId, ...row }): [string, PushDecisionView] => [
    deliveryId,
    {
      ...row,
      appId: parseId('app', row.appId),
      environmentId: parseId('env', row.environmentId),
      outcome: pushOutcomeSchema.parse(row.outcome),
      reason: pushReasonSchema.parse(row.reason),
      deploymentId: row.deploymentId === null ? null : parseId('dep', row.deploymentId),
      deploymentState: deploymentStateSchema.nullable().parse(row.deploymentState),
      awaitsApproval: row.awaitsApproval,
    },
  ]);
  return new Map(
    [...Map.groupBy(views, ([id]) => id)].map(([id, group]) => [id, group.map(([, decision]) => decision)]),
  );
}

/** A decision about a preview concerns the whole app. */
function previewsReachedBy(reach: Reach): Prisma.Sql {
  if (reach.everywhere) return Prisma.sql`true`;
  return Prisma.sql`(SELECT project_id FROM app WHERE app.id = p.app_id) = ANY(${[...reach.projectIds]}::text[])`;
}

function reachedBy(reach: Reach): Prisma.Sql {
  if (reach.everywhere) return Prisma.sql`true`;
  return isReached(reach, {
    projectId: Prisma.sql`(SELECT project_id FROM environment WHERE environment.id = p.environment_id)`,
    environmentId: Prisma.sql`p.environment_id`,
  });
}
