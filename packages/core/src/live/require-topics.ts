// Checks the topics that an organization may watch.
// Invariant: every topic passes this check, because no row-level security applies to live data.
import type { LiveTopic } from '@fairlead/contract/live';
import { AppError, type ErrorCode, type OrganizationCtx } from '../kernel/index.ts';

const missing: Readonly<Record<LiveTopic['kind'], ErrorCode>> = {
  app: 'app.not_found',
  server: 'server.not_found',
  deployment: 'deployment.not_found',
  benchmark: 'benchmark.not_found',
  organization: 'organization.not_found',
};

/** Throws x.not_found unless every topic belongs to the organization: live data passes no row security on its way. */
export async function requireTopics(ctx: OrganizationCtx, input: { topics: readonly LiveTopic[] }): Promise<void> {
  const { tx, organizationId } = ctx;
  const ids = (kind: LiveTopic['kind']): string[] => [
    ...new Set(input.topics.filter((topic) => topic.kind === kind).map(({ id }) => id)),
  ];
  const where = (wanted: string[]) => ({ where: { organizationId, id: { in: wanted } } });
  const known: Readonly<Record<LiveTopic['kind'], (wanted: string[]) => Promise<number>>> = {
    app: (wanted) => tx.app.count(where(wanted)),
    server: (wanted) => tx.server.count(where(wanted)),
    deployment: (wanted) => tx.deployment.count(where(wanted)),
    benchmark: (wanted) => tx.benchmarkRun.count(where(wanted)),
    organization: async (wanted) => wanted.filter((id) => id === organizationId).length,
  };
  for (const kind of ['app', 'server', 'deployment', 'benchmark', 'organization'] as const) {
    const wanted = ids(kind);
    if (wanted.length > 0 && (await known[kind](wanted)) !== wanted.length) throw new AppError(missing[kind]);
  }
}
