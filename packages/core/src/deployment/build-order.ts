// Order in which a server builds. It builds one app at a time, so a build also waits after a server has taken it.
import { Prisma } from '@fairlead/db';
import type { DeploymentState } from './schema.ts';
import { buildSteps } from './steps.ts';

/** Condition on a row of `deployment`: its server has begun the build. */
export function hasBegunBuildSql(row: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`EXISTS (
    SELECT 1 FROM deployment_step AS step
    WHERE step.deployment_id = ${row}.id AND step.name = ANY(${[...buildSteps]}::text[]) AND step.started_at IS NOT NULL)`;
}

/** Condition on two rows of `deployment`: `row` waits for the build of `other`. A server takes up builds by their ids. */
export function isBuiltBeforeSql(other: Prisma.Sql, row: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`${row}.state = 'building' AND ${other}.state = 'building' AND ${other}.id <> ${row}.id
    AND ${other}.organization_id = ${row}.organization_id AND ${other}.build_server_id = ${row}.build_server_id
    AND NOT ${hasBegunBuildSql(row)} AND (${other}.id < ${row}.id OR ${hasBegunBuildSql(other)})`;
}

/** Condition on a row of `deployment`: a server has taken it and builds others first. False for a row of nulls. */
export function awaitsBuildSql(row: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT 1 FROM deployment AS ahead WHERE ${isBuiltBeforeSql(Prisma.sql`ahead`, row)})`;
}

/**
 * Condition on a row of `deployment`: it is shown in this state. A build that waits for another is shown as queued. Compares the
 * column with constants first, so that an index on it is used.
 */
export function isShownInStateSql(row: Prisma.Sql, state: DeploymentState): Prisma.Sql {
  if (state === 'queued') {
    return Prisma.sql`${row}.state IN ('queued', 'building') AND (${row}.state = 'queued' OR ${awaitsBuildSql(row)})`;
  }
  const isShown = Prisma.sql`${row}.state = ${state}`;
  return state === 'building' ? Prisma.sql`${isShown} AND NOT ${awaitsBuildSql(row)}` : isShown;
}
