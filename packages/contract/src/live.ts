// Live topics and events, for gateway, web and browser, so independent of protobuf and the database. Samples here
// are for display; charts of the past read the database.
import { z } from 'zod';
import {
  appIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  organizationIdSchema,
  runIdSchema,
  serverIdSchema,
} from './ids.ts';

/** Topics to watch. `organization` covers the lists: every change in it and the samples of its apps and servers. */
export const liveTopic = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('app'), id: appIdSchema }),
  z.object({ kind: z.literal('server'), id: serverIdSchema }),
  z.object({ kind: z.literal('deployment'), id: deploymentIdSchema }),
  z.object({ kind: z.literal('benchmark'), id: runIdSchema }),
  z.object({ kind: z.literal('organization'), id: organizationIdSchema }),
]);
export type LiveTopic = z.infer<typeof liveTopic>;
export const liveTopicsMax = 50;

const count = z.number().nonnegative();

/** One second of one app on one server. */
export const appSample = z.object({
  type: z.literal('app.sample'),
  appId: appIdSchema,
  environmentId: environmentIdSchema,
  serverId: serverIdSchema,
  unixMs: count,
  requestsPerSecond: count,
  errorsPerSecond: count,
  clientErrorsPerSecond: count,
  /** Histogram as pairs of bucket index and count (`buckets.ts`); empty without a request, and from an older gateway. */
  latency: z.array(count.int()).default([]),
  bytesReceivedPerSecond: count,
  bytesSentPerSecond: count,
  cpuMillis: count,
  memoryBytes: count,
  inFlight: count,
});

/** One second of one server. */
const serverSample = z.object({
  type: z.literal('server.sample'),
  serverId: serverIdSchema,
  unixMs: count,
  cpuMillis: count,
  memoryUsedBytes: count,
  memoryTotalBytes: count,
  diskUsedBytes: count,
  diskTotalBytes: count,
  networkReceivedBytesPerSecond: count,
  networkSentBytesPerSecond: count,
  load1Millis: count,
  agentCpuMillis: count,
  agentMemoryBytes: count,
  openConnections: count,
});

const logStreams = ['system', 'stdout', 'stderr'] as const;

/** A line of a deployment's log, the same live and from the store. */
export const logLine = z.object({
  unixMs: count,
  step: z.string(),
  stream: z.enum(logStreams),
  text: z.string(),
});
export type LogLine = z.infer<typeof logLine>;

/** Consecutive lines; `firstLine` counts from 0 over the whole deployment. Lines may come twice: keep by number. */
const logLines = z.object({
  type: z.literal('log.lines'),
  deploymentId: deploymentIdSchema,
  firstLine: count.int(),
  lines: z.array(logLine),
});

export const changeKinds = [
  'app',
  'server',
  'agent_rollout',
  'deployment',
  'delivery',
  'benchmark',
  'certificate',
  'member',
  'organization',
] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** Something was changed in the database: read it again. */
export const changed = z.object({
  type: z.literal('changed'),
  kind: z.enum(changeKinds),
  id: z.string(),
});

export const liveEvent = z.discriminatedUnion('type', [appSample, serverSample, logLines, changed]);
export type LiveEvent = z.infer<typeof liveEvent>;
export type AppSample = z.infer<typeof appSample>;
export type ServerSample = z.infer<typeof serverSample>;

/** `kind:id`, as topics travel in a query string. */
export function formatLiveTopic(topic: LiveTopic): string {
  return `${topic.kind}:${topic.id}`;
}

/** Reads `kind:id`; null when it is none. */
export function parseLiveTopic(text: string): LiveTopic | null {
  const colon = text.indexOf(':');
  const parsed = liveTopic.safeParse({ kind: text.slice(0, Math.max(colon, 0)), id: text.slice(colon + 1) });
  return parsed.success ? parsed.data : null;
}
