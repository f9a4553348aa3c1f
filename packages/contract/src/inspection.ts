// Query for the build plan of a source and its answer, as they pass between browser, web, gateway and agent.
import { z } from 'zod';
import { organizationIdSchema, serverIdSchema } from './ids.ts';

/** Timeout from the query to its answer, as an agent measures it. */
export const inspectTimeoutMs = 60_000;

const command = z.array(z.string().max(4096)).max(50);

/** Request of the web process to the gateway, which checks the server again. */
export const inspectQuery = z.object({
  organizationId: organizationIdSchema,
  serverId: serverIdSchema,
  repositoryUrl: z.string().max(2048),
  /** Branch, tag or commit; empty: the repository's default branch. */
  ref: z.string().max(255),
  rootFolder: z.string().max(300),
  builder: z.enum(['auto', 'native', 'dockerfile']),
  installCommand: command,
  buildCommand: command,
  startCommand: command,
  outputFolder: z.string().max(300),
  dockerfile: z.string().max(300),
});
export type InspectQuery = z.infer<typeof inspectQuery>;

/** Commands are lines as people type them. */
export const buildPlan = z.object({
  builder: z.enum(['native', 'dockerfile']),
  dockerfile: z.string(),
  /** Framework or kind of app for people; empty: unknown. */
  framework: z.string(),
  runtime: z.string(),
  tools: z.array(
    z.object({
      tool: z.string(),
      /** In npm's notation; empty: any version. */
      range: z.string(),
      /** File that requires the version. */
      source: z.string(),
    }),
  ),
  installCommands: z.array(z.string()),
  buildCommands: z.array(z.string()),
  startCommand: z.string(),
  /** Folders of a static site; the first with an index.html is served. */
  outputFolders: z.array(z.string()),
  workers: z.array(z.object({ name: z.string(), command: z.string(), instances: z.number().int() })),
  releaseCommand: z.string(),
  healthPath: z.string(),
  listensOnSocket: z.boolean(),
  expectedVariables: z.array(z.string()),
  /** Findings and decisions, one sentence each. */
  sentences: z.array(z.string()),
});
export type BuildPlan = z.infer<typeof buildPlan>;

export const inspectedCommit = z.object({
  hash: z.string(),
  subject: z.string(),
  author: z.string(),
  /** Empty: the ref is a tag or a commit. */
  branch: z.string(),
});

export const inspection = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('plan'), commit: inspectedCommit, plan: buildPlan }),
  z.object({
    kind: z.literal('failed'),
    /** Code of the error table, or of a newer agent. */
    code: z.string(),
    /** Sentences: the failure and the next step. */
    sentence: z.string(),
    /** Folders that hold an app, each a root folder to choose. */
    appFolders: z.array(z.string()),
  }),
]);
export type Inspection = z.infer<typeof inspection>;
export type FailedInspection = Extract<Inspection, { kind: 'failed' }>;
