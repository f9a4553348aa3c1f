// Lists values to filter deployments by: the branches and authors of recent ones.
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { deploymentConditions } from './load-deployments.ts';
import type { DeploymentFilters } from './schema.ts';

/** Bounds the cost for a long history. Older values still filter by the URL. */
const deploymentsRead = 5000;
const valuesMax = 200;

export async function listDeploymentFilters(ctx: Ctx, reach: Reach = wholeReach): Promise<DeploymentFilters> {
  const where = Prisma.join(deploymentConditions(ctx, { reach }), ' AND ');
  const rows = await ctx.tx.$queryRaw<{ kind: 'branch' | 'author'; id: string; name: string }[]>`
    WITH recent AS (
      SELECT d.ref, d.requested_by_user_id FROM deployment AS d WHERE ${where}
      ORDER BY d.queued_at DESC, d.id DESC LIMIT ${deploymentsRead}
    ), branches AS (
      SELECT DISTINCT ref FROM recent WHERE ref <> '' ORDER BY ref LIMIT ${valuesMax}
    ), authors AS (
      SELECT person.id, person.name FROM "user" AS person
      WHERE person.id IN (SELECT requested_by_user_id FROM recent) ORDER BY person.name, person.id LIMIT ${valuesMax}
    )
    SELECT 'branch' AS kind, ref AS id, ref AS name FROM branches
    UNION ALL SELECT 'author', id, name FROM authors`;
  return {
    branches: rows.flatMap(({ kind, name }) => (kind === 'branch' ? [name] : [])),
    authors: rows.flatMap(({ kind, id, name }) => (kind === 'author' ? [{ id, name }] : [])),
  };
}
