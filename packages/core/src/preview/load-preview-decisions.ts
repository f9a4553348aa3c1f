// Reads decisions about pull requests for the pages of deliveries.
import { parseId } from '@fairlead/contract/ids';
import type { Prisma } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type PreviewDecisionView, previewOutcomeSchema } from './schema.ts';

type DecisionRow = Omit<PreviewDecisionView, 'appId' | 'outcome' | 'deploymentId'> &
  Readonly<Record<'deliveryId' | 'appId' | 'outcome', string>> & { readonly deploymentId: string | null };

/** `seen`: condition on the decision `p`. Returns decisions by the id of their delivery. */
export async function loadPreviewDecisions(
  { tx, organizationId }: OrganizationCtx,
  deliveryIds: readonly string[],
  seen: Prisma.Sql,
): Promise<ReadonlyMap<string, PreviewDecisionView[]>> {
  const rows = await tx.$queryRaw<DecisionRow[]>`
    SELECT p.delivery_id AS "deliveryId", p.app_id AS "appId", app.name AS "appName", app.slug AS "appSlug", p.number,
           p.outcome, p.detail, deployment.id AS "deploymentId", p.decided_at AS "decidedAt"
    FROM preview_decision AS p
    JOIN app ON app.id = p.app_id
    LEFT JOIN deployment ON deployment.id = p.deployment_id
    WHERE p.organization_id = ${organizationId} AND p.delivery_id = ANY(${[...deliveryIds]}::text[]) AND ${seen}
    ORDER BY app.name, p.id`;
  const views = rows.map(({ deliveryId, ...row }): [string, PreviewDecisionView] => [
    deliveryId,
    {
      ...row,
      appId: parseId('app', row.appId),
      outcome: previewOutcomeSchema.parse(row.outcome),
      deploymentId: row.deploymentId === null ? null : parseId('dep', row.deploymentId),
    },
  ]);
  return new Map(
    [...Map.groupBy(views, ([id]) => id)].map(([id, group]) => [id, group.map(([, decision]) => decision)]),
  );
}
