// Messages for app logs, which the servers store: queries and their results between browser, web and gateway.
import { z } from 'zod';
import { appIdSchema, environmentIdSchema, organizationIdSchema, serverIdSchema } from './ids.ts';

const unixMs = z.number().int().nonnegative().max(253_402_300_800_000);
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** Filter of a search. Absent fields do not filter. */
export const appLogFilter = z.object({
  /** "web", or the name of a worker. */
  process: z.string().max(40).optional(),
  instanceId: z.string().max(80).optional(),
  /** A line must hold it, case aside; with `regex` it is a regular expression. */
  text: z.string().max(500).optional(),
  regex: z.boolean().optional(),
  /** This and what is worse. */
  level: z.enum(logLevels).optional(),
  fromUnixMs: unixMs.optional(),
  toUnixMs: unixMs.optional(),
  /** Maximum number of lines from each server, the newest first. */
  limit: z.number().int().min(1).max(5000).default(500),
});
export type AppLogFilter = z.infer<typeof appLogFilter>;

/** Query from the web process to the gateway, which does not trust it: it checks the servers again. */
export const appLogQuery = appLogFilter.extend({
  organizationId: organizationIdSchema,
  appId: appIdSchema,
  environmentId: environmentIdSchema,
  serverIds: z.array(serverIdSchema).min(1).max(100),
  /** Goes on with what comes. */
  follow: z.boolean(),
});
export type AppLogQuery = z.infer<typeof appLogQuery>;

export const appLogLine = z.object({
  unixMs: z.number(),
  instanceId: z.string(),
  process: z.string(),
  releaseId: z.string(),
  stream: z.enum(['system', 'stdout', 'stderr']),
  /** Level parsed from the line; empty: none. */
  level: z.string(),
  text: z.string(),
});
export type AppLogLine = z.infer<typeof appLogLine>;

/** From one server. With `done`, nothing more comes from it. */
export const appLogBatch = z.object({
  serverId: serverIdSchema,
  lines: z.array(appLogLine),
  done: z.boolean(),
  /** Older lines that match were left out. */
  more: z.boolean(),
  /** Reason why this server cannot answer, as a whole sentence; null: it does. */
  failure: z.string().nullable(),
});
export type AppLogBatch = z.infer<typeof appLogBatch>;
