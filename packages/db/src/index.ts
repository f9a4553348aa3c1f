// Public exports of the database: scoped transactions, job enqueueing, and Prisma's types. Restricted exports are in
// identity.ts, embedded.ts, migrate.ts and testing.ts.
export { createDatabase, type Database, type DatabaseOptions, type TransactionOptions } from './database.ts';
export type {
  Account,
  App,
  AuditEvent,
  BenchmarkPlan,
  BenchmarkRow,
  BenchmarkRun,
  BenchmarkSchedule,
  DataKey,
  Deployment,
  DeploymentStep,
  Domain,
  Environment,
  Instance,
  Invitation,
  LogChunk,
  Member,
  Organization,
  Placement,
  Project,
  Release,
  Secret,
  SecretGroup,
  SecretGroupApp,
  SecretSnapshot,
  SecretSnapshotEntry,
  SecretVersion,
  Server,
  ServerEnrolment,
  Session,
  SetupToken,
  SigningKey,
  User,
  Verification,
} from './generated/client.ts';
export { Prisma } from './generated/client.ts';
export type { ListenHandlers } from './listener.ts';
export { dropExpiredMetricPartitions, ensureMetricPartitions } from './metric.ts';
export { type EnqueueableJob, type EnqueueOptions, enqueue } from './queue.ts';
export { countJobs, type FailedJob, type JobCount, listFailedJobs, retryFailedJob } from './queue-overview.ts';
export { UnsafeDatabaseError } from './safety.ts';
export type { ScopedTx, SystemTx, TenantTx } from './scope.ts';
export { bookkeepingTables, identityTables, systemTables } from './tables.ts';
