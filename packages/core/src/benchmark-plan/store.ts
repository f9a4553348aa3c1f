// Reads and locks saved plans.
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { parseId } from '@fairlead/contract/ids';
import { benchmarkPlanSchema } from '../benchmark/schema.ts';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { type Reach, whereReached } from '../role/index.ts';
import type { SavedPlan } from './schema.ts';

const withNames = {
  app: { select: { name: true, slug: true } },
  environment: { select: { name: true } },
  schedule: true,
} as const;

export interface PlanFilter {
  readonly reach: Reach;
  readonly id?: string;
  readonly appId?: string | undefined;
  readonly environmentId?: string | undefined;
  /** Id of the last plan of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

/** Sorts by name. */
export async function loadPlans(ctx: OrganizationCtx, filter: PlanFilter): Promise<SavedPlan[]> {
  const { organizationId, tx } = ctx;
  const { reach, id, appId, environmentId, after, limit } = filter;
  const last =
    after === undefined || after === null
      ? null
      : await tx.benchmarkPlan.findFirst({ where: { id: after, organizationId }, select: { id: true, name: true } });
  if (after && last === null) return [];
  const rows = await tx.benchmarkPlan.findMany({
    where: {
      organizationId,
      environment: whereReached(reach),
      ...(id === undefined ? {} : { id }),
      ...(appId === undefined ? {} : { appId }),
      ...(environmentId === undefined ? {} : { environmentId }),
      ...(last === null ? {} : { OR: [{ name: { gt: last.name } }, { name: last.name, id: { gt: last.id } }] }),
    },
    include: withNames,
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
    take: limit,
  });
  const names = await loadServerNames(
    ctx,
    rows.flatMap(({ loadServerIds }) => loadServerIds),
  );
  return rows.map((row) => ({
    id: parseId('bpl', row.id),
    appId: parseId('app', row.appId),
    appName: row.app.name,
    appSlug: row.app.slug,
    environmentId: parseId('env', row.environmentId),
    environmentName: row.environment.name,
    name: row.name,
    plan: benchmarkPlanSchema.parse(row.plan),
    loadServers: row.loadServerIds.map((id) => ({ serverId: parseId('srv', id), name: names.get(id) ?? null })),
    version: row.version,
    isFromRepository: row.isFromRepository,
    schedule: row.schedule === null ? null : toSchedule(row.schedule),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }));
}

/** Returns the names of servers that still exist, by id. */
export async function loadServerNames(
  { tx, organizationId }: OrganizationCtx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const where = { organizationId, id: { in: [...new Set(ids)] } };
  const servers = await tx.server.findMany({ where, select: { id: true, name: true } });
  return new Map(servers.map(({ id, name }) => [id, name]));
}

interface ScheduleRow {
  readonly weekday: number | null;
  readonly hour: number;
  readonly timeZone: string;
  readonly pausedAt: Date | null;
  readonly nextAt: Date;
  readonly lastAt: Date | null;
  readonly lastRunId: string | null;
  readonly lastSkip: string | null;
}

function toSchedule(row: ScheduleRow): NonNullable<SavedPlan['schedule']> {
  const { weekday, hour, timeZone, pausedAt, nextAt, lastAt, lastRunId, lastSkip } = row;
  const skipMessage = lastSkip !== null && isErrorCode(lastSkip) ? errorTable[lastSkip].message : null;
  return {
    ...{ weekday, hour, timeZone },
    paused: pausedAt !== null,
    nextAt: pausedAt === null ? nextAt : null,
    last:
      lastAt === null
        ? null
        : {
            at: lastAt,
            runId: lastRunId === null ? null : parseId('run', lastRunId),
            skipCode: lastSkip,
            skipMessage,
          },
  };
}

export interface LockedPlan {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly appName: string;
  readonly name: string;
  readonly plan: unknown;
  readonly loadServerIds: readonly string[];
  readonly version: number;
  readonly isFromRepository: boolean;
}

/** Throws benchmark_plan.from_repository. */
export function requireOwnPlan({ id, isFromRepository }: LockedPlan): void {
  if (isFromRepository) throw new AppError('benchmark_plan.from_repository', { planId: id });
}

/** Throws benchmark_plan.outdated. */
export function requireVersion(plan: LockedPlan, version: number): void {
  if (plan.version !== version) throw new AppError('benchmark_plan.outdated', { planId: plan.id });
}

/** Locks the plan until the transaction ends. Throws benchmark_plan.not_found. */
export async function lockPlan({ tx, organizationId }: OrganizationCtx, planId: string): Promise<LockedPlan> {
  await tx.$queryRaw`
    SELECT id FROM benchmark_plan WHERE id = ${planId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  const row = await tx.benchmarkPlan.findFirst({
    where: { id: planId, organizationId },
    include: { app: { select: { name: true } } },
  });
  if (row === null) throw new AppError('benchmark_plan.not_found', { planId });
  return { ...row, appName: row.app.name };
}
