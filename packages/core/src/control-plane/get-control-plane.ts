// Returns the data of the control plane page: addresses, mail, versions, jobs and storage.
import { countJobs, listFailedJobs } from '@fairlead/db';
import { type BackupFacts, listBackups } from '../backup/index.ts';
import { getUpdate, type UpdateFacts } from '../fairlead-update/index.ts';
import { clipText, readDisks, reserveOf, type SystemCtx } from '../kernel/index.ts';
import type { AgentOffer } from '../server/index.ts';
import { listWarnings } from './list-warnings.ts';
import type { ControlPlaneState } from './schema.ts';

const failedJobsShown = 20;
const errorLengthMax = 500;

/** Facts that the process knows from its settings. */
export interface ControlPlaneFacts extends Pick<ControlPlaneState, 'mail'> {
  readonly addresses: Omit<ControlPlaneState['addresses'], 'clientAddress'>;
  readonly version: string;
  readonly backups: BackupFacts;
  readonly updates: UpdateFacts;
  /** Bytes that stay free on each disk. */
  readonly freeBytesMin: number;
  /** Folders of data and of artifacts. */
  readonly folders: readonly string[];
}

export interface ControlPlaneRequest {
  readonly facts: ControlPlaneFacts;
  readonly offers: readonly AgentOffer[];
  readonly clientAddress: string | null;
}

export async function getControlPlane(
  ctx: SystemCtx,
  { facts, offers, clientAddress }: ControlPlaneRequest,
): Promise<ControlPlaneState> {
  const { tx } = ctx;
  const failed = await listFailedJobs(tx, failedJobsShown);
  const { postgres, ...sizes } = await readDatabase(ctx);
  return {
    warnings: await listWarnings(ctx, facts),
    addresses: { ...facts.addresses, clientAddress },
    mail: facts.mail,
    versions: {
      controlPlane: facts.version,
      node: process.versions.node,
      postgres,
      offeredAgents: offers.map(({ target, version }) => ({ target, version })),
      agents: await countAgents(ctx),
    },
    updates: await getUpdate(ctx, facts.updates),
    backups: await listBackups(ctx, facts.backups),
    jobs: {
      counts: await countJobs(tx),
      failed: failed.map(({ id, error, ...job }) => ({
        ...job,
        id: String(id),
        error: clipText(error ?? 'The job gave no reason.', errorLengthMax),
      })),
    },
    storage: {
      disks: (await readDisks(facts.folders)).map((disk) => ({
        ...disk,
        reserveBytes: reserveOf(disk, facts.freeBytesMin),
      })),
      ...sizes,
    },
  };
}

async function countAgents({ tx }: SystemCtx): Promise<ControlPlaneState['versions']['agents']> {
  const groups = await tx.server.groupBy({
    by: ['agentVersion'],
    where: { agentVersion: { not: '' } },
    _count: true,
    orderBy: { agentVersion: 'desc' },
  });
  return groups.map(({ agentVersion, _count }) => ({ version: agentVersion, servers: _count }));
}

interface DatabaseFacts {
  readonly postgres: string;
  readonly databaseBytes: number;
  readonly logsBytes: number;
  readonly artifactsBytes: number;
}

async function readDatabase({ tx }: SystemCtx): Promise<DatabaseFacts> {
  const [row] = await tx.$queryRaw<DatabaseFacts[]>`
    SELECT current_setting('server_version') AS "postgres",
           pg_database_size(current_database())::float8 AS "databaseBytes",
           (SELECT coalesce(sum(size_bytes), 0)::float8 FROM log_chunk) AS "logsBytes",
           (SELECT coalesce(sum(size_bytes), 0)::float8 FROM artifact) AS "artifactsBytes"`;
  if (row === undefined) throw new TypeError('a query without a table returned no row');
  return row;
}
