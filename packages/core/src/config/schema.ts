// Schema of an app's settings in one environment.
// Invariant: stored values are in the agent's bounds, because an agent refuses its whole state for one value that is
// not.
import { configIdSchema, deploymentIdSchema, environmentIdSchema, serverIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';
import { commandSchema, healthPathSchema, namedCommandSchema, plainNameSchema } from '../kernel/process.ts';
import { placementInputSchema } from '../placement/schema.ts';
import { rootFolderSchema } from '../source/schema.ts';
import { appTrafficSchema } from '../traffic/schema.ts';
import { benchmarkGateSchema } from './benchmark-gate.ts';
import { variableNameProblem, variablesMax, variableValueProblem } from './rules.ts';
import { normalizeServerPort, serverPortProblem, serverPortsMax } from './server-port.ts';

export { variablesMax };
export const instancesMax = 64;
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const count = z.number().int().min(0);
const bytes = count.max(2 ** 50);
const cpuMillis = count.max(1_000_000);

export const healthCheckSchema = z.discriminatedUnion('kind', [
  /** A connection to its port is enough. */
  z.object({ kind: z.literal('tcp') }),
  z.object({ kind: z.literal('http'), path: healthPathSchema.refine((path) => path !== '', 'Enter a path.') }),
  /** A program of the release that must end with 0. */
  z.object({ kind: z.literal('command'), command: namedCommandSchema }),
]);
export type HealthCheckSettings = z.infer<typeof healthCheckSchema>;

export const autoscalingSchema = z
  .object({
    /** 0: all may sleep; the first request wakes one. */
    instancesMin: count.max(instancesMax),
    instancesMax: z.number().int().min(1).max(instancesMax),
    idleTimeoutMs: z
      .number()
      .int()
      .min(second)
      .max(24 * hour)
      .default(5 * minute),
    /** Target of in-flight requests for each instance; 0: off. */
    inFlightTarget: count.max(1_000_000).default(0),
    /** Target of CPU use for each instance, 1000 = one core; 0: off. */
    cpuMillisTarget: cpuMillis.default(0),
    /** Maximum wait of a request for a sleeping app. */
    wakeTimeoutMs: z
      .number()
      .int()
      .min(second, 'A request waits 1 to 120 seconds for an app that sleeps.')
      .max(2 * minute, 'A request waits 1 to 120 seconds for an app that sleeps.')
      .default(30 * second),
  })
  .refine(
    ({ instancesMin, instancesMax }) => instancesMin <= instancesMax,
    'Min instances must not exceed max instances.',
  );

export const workerSchema = z.object({
  name: plainNameSchema.refine(
    (name) => name !== 'web',
    'The process with the port is called web; choose another name.',
  ),
  command: namedCommandSchema,
  instances: count.max(instancesMax).default(1),
  memoryBytesMax: bytes.default(0),
  cpuMillisMax: cpuMillis.default(0),
  /** Runs on while its app sleeps. */
  staysAwake: z.boolean().default(false),
});

/** Schedule of the snapshots of a volume. */
export const snapshotScheduleSchema = z.enum(['off', 'hourly', 'daily']);
export type SnapshotSchedule = z.infer<typeof snapshotScheduleSchema>;

export const volumeMountSchema = z.object({
  name: plainNameSchema,
  /** Mount path in a container; every app also finds it at $FAIRLEAD_VOLUMES/<name>. */
  path: z
    .string()
    .trim()
    .max(300)
    .regex(/^\/[\w.@+-]+(?:\/[\w.@+-]+)*$/, 'Enter an absolute folder such as /data.')
    .refine((path) => !path.split('/').includes('..'), 'Enter a folder without “..”.'),
  /** Counts without a deployment: it follows the newest settings. */
  snapshots: snapshotScheduleSchema.default('off'),
});

export const hookSchema = z.object({
  command: namedCommandSchema,
  timeoutMs: z
    .number()
    .int()
    .min(second)
    .max(hour)
    .default(10 * minute),
});

export const rolloutSchema = z.discriminatedUnion('kind', [
  /** Starts all new instances beside the old ones, then switches traffic. */
  z.object({ kind: z.literal('blue_green') }),
  /** Replaces a batch of instances at a time. */
  z.object({ kind: z.literal('rolling'), batchSize: z.number().int().min(1).max(instancesMax) }),
  /** Sends a share of the requests to the new release first. */
  z.object({
    kind: z.literal('canary'),
    stepPercents: z
      .array(z.number().int().min(1).max(99))
      .min(1)
      .max(20)
      .refine(
        (all) => all.every((each, at) => at === 0 || each > (all[at - 1] ?? 0)),
        'Each share is larger than the last.',
      ),
    /** Duration of each step. */
    stepDurationMs: z.number().int().min(second).max(hour).default(minute),
    /** Maximum of additional failed requests out of 1000, compared with the old release. */
    errorIncreasePermilleMax: count.max(1000).default(10),
    /** Maximum p99 in permille of the old release's, 1500 = half as much again; 0: off. */
    p99RatioPermilleMax: count.max(1_000_000).default(0),
    /** Fewer requests than this decide nothing. */
    requestsMin: count.max(1_000_000).default(20),
  }),
]);
export type RolloutSettings = z.infer<typeof rolloutSchema>;

/** Build commands and Dockerfiles, what runs, or both. */
export const variableScopeSchema = z.enum(['both', 'build', 'run']);
export type VariableScope = z.infer<typeof variableScopeSchema>;

/** Text that one of the rules checks: each answers a sentence for an invalid text. */
const checked = (problemOf: (text: string) => string | null) =>
  z.string().superRefine((text, context) => {
    const message = problemOf(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

export const variableNameSchema = checked(variableNameProblem);
export const variableValueSchema = checked(variableValueProblem);
const variableSchema = z.object({ value: variableValueSchema, scope: variableScopeSchema.default('both') });
export type Variable = z.infer<typeof variableSchema>;

export const variablesSchema = z
  .record(
    z.string(),
    // A plain text has both scopes: former versions stored it so.
    z.union(
      [
        z
          .string()
          .transform((value): z.input<typeof variableSchema> => ({ value }))
          .pipe(variableSchema),
        variableSchema,
      ],
      { error: 'A variable is a text of at most 16,384 characters, or a value with a scope.' },
    ),
  )
  // Not as the schema of a key: its sentence would be lost behind "Invalid key in record".
  .superRefine((all, context) => {
    for (const name of Object.keys(all)) {
      const message = variableNameProblem(name);
      if (message !== null) context.addIssue({ code: 'custom', message, path: [name] });
    }
  })
  .refine((all) => Object.keys(all).length <= variablesMax, 'An app has at most 200 variables; use secrets or a file.');

/** Address and port, normalized: `127.0.0.1:5432`, `[::1]:5432`. */
const serverPortSchema = z
  .string()
  .max(80)
  .overwrite(normalizeServerPort)
  .superRefine((text, context) => {
    const message = serverPortProblem(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

const unique = <T extends { readonly name: string }>(all: readonly T[]): boolean =>
  new Set(all.map(({ name }) => name)).size === all.length;

/** registry.example/name:tag, or with a digest. */
export const imageSchema = z
  .string()
  .trim()
  .max(512)
  .regex(/^[A-Za-z0-9._/:@-]*$/, 'Enter the name of an image, such as registry.example/shop:2.');

/** Everything has a default: an app without settings is built and run as it was detected. */
export const settingsSchema = z.object({
  builder: z.enum(['auto', 'native', 'dockerfile', 'image']).default('auto'),
  /** Empty: what is detected. A committed fairlead.toml comes first. */
  installCommand: commandSchema.default([]),
  buildCommand: commandSchema.default([]),
  /** Empty: the app's own command, else what is detected. */
  startCommand: commandSchema.default([]),
  /** Path in the root folder; empty: Dockerfile. */
  dockerfile: rootFolderSchema.default(''),
  /** With the builder `image`. */
  image: imageSchema.default(''),
  /** Folder that a static site serves. */
  outputFolder: rootFolderSchema.default(''),
  /** Not secret: visible to every member who sees the app. */
  variables: variablesSchema.default({}),
  /** Address that the app listens on: `auto` follows fairlead.toml, else a port. */
  listen: z.enum(['auto', 'port', 'socket']).default('auto'),
  /** Lets the app reach private addresses (RFC 1918, RFC 6598, RFC 4193); without it, the internet only. */
  privateNetwork: z.boolean().default(false),
  /** Ports of the server that the app reaches at the same address, as "address:port". */
  serverPorts: z
    .array(serverPortSchema)
    .max(serverPortsMax, `An app has at most ${serverPortsMax} server ports.`)
    .superRefine((ports, context) => {
      for (const [at, port] of ports.entries()) {
        if (ports.indexOf(port) === at) continue;
        context.addIssue({ code: 'custom', message: `${port} is in the list already.`, path: [at] });
      }
    })
    .default([]),
  /** Null: the app's health path, else the one in fairlead.toml, else its port. */
  readinessCheck: healthCheckSchema.nullable().default(null),
  /** Maximum time until a new instance is healthy. */
  startTimeoutMs: z.number().int().min(second).max(hour).default(minute),
  /** Liveness check, sent for as long as an instance runs; three failures in a row restart it. Null: off. */
  livenessCheck: healthCheckSchema.nullable().default(null),
  autoscaling: autoscalingSchema.nullable().default(null),
  /** Load balancing, timeouts and retries between the proxy and the instances. */
  traffic: appTrafficSchema.prefault({}),
  /** Empty: those of fairlead.toml or a Procfile. */
  workers: z.array(workerSchema).max(20).refine(unique, 'Two processes have the same name.').default([]),
  volumes: z.array(volumeMountSchema).max(20).refine(unique, 'Two volumes have the same name.').default([]),
  /** 0: no limit of its own. */
  memoryBytesMax: bytes.default(0),
  cpuMillisMax: cpuMillis.default(0),
  processesMax: count.max(100_000).default(0),
  /** Run to its end, once, before the first new instance starts: migrations. */
  releaseCommand: hookSchema.nullable().default(null),
  /** Runs once when the release is live everywhere. Its failure is reported and changes nothing. */
  postReleaseCommand: hookSchema.nullable().default(null),
  rollout: rolloutSchema.default({ kind: 'blue_green' }),
  /** Load on a new instance before traffic switches. A missed threshold fails the deployment. Null: off. */
  benchmarkGate: benchmarkGateSchema.nullable().default(null),
  drainTimeoutMs: z
    .number()
    .int()
    .min(0)
    .max(hour)
    .default(30 * second),
  /** Time from SIGTERM to SIGKILL. */
  stopTimeoutMs: z
    .number()
    .int()
    .min(0)
    .max(10 * minute)
    .default(10 * second),
  /** Number of releases to keep for a rollback without a build, in addition to the live one. */
  releasesKept: z.number().int().min(1).max(100).default(5),
  /** Keeps the newest releases reachable below the base domain of the primary server. Takes effect at once. */
  deploymentUrls: z.boolean().default(true),
  buildTimeoutMs: z
    .number()
    .int()
    .min(minute)
    .max(2 * hour)
    .default(15 * minute),
  /** Null: the primary server of the app. */
  buildServerId: serverIdSchema.nullable().default(null),
});
export type Settings = z.infer<typeof settingsSchema>;

/** Default settings of an app. */
export const defaultSettings: Settings = settingsSchema.parse({});

export const configSchema = z.object({
  /** Null: the settings were never changed. */
  id: configIdSchema.nullable(),
  /** Counts from 1 in each environment; 0: the settings were never changed. */
  number: z.number().int(),
  settings: settingsSchema,
  /** Number of copies on each server. Not part of a version: it takes effect at once. */
  instances: z.number().int(),
  branch: z.string(),
  deploysPaused: z.boolean(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  createdAt: z.date().nullable(),
  authorName: z.string().nullable(),
  /** Settings that the live release does not have yet, by their names. */
  notDeployed: z.array(z.string()),
  /**
   * Settings in effect: those of the live release, with the newest of those that wait for no deployment. `number` is the
   * release's version. Null: nothing is live.
   */
  live: z
    .object({
      number: z.number().int(),
      settings: settingsSchema,
      /** Newest deployment of the release. */
      deploymentId: deploymentIdSchema.nullable(),
    })
    .nullable(),
});
export type ConfigView = z.infer<typeof configSchema>;

/** Only given fields change. `autoscaling` and `traffic` take effect immediately, the others with the next deployment. */
export const updateConfigInputSchema = placementInputSchema.extend({
  settings: z.object(
    Object.fromEntries(
      Object.entries(settingsSchema.shape).map(([name, schema]) => [name, schema.unwrap().optional()]),
    ) as {
      [Name in keyof typeof settingsSchema.shape]: z.ZodOptional<
        ReturnType<(typeof settingsSchema.shape)[Name]['unwrap']>
      >;
    },
  ),
});
export type UpdateConfigInput = z.infer<typeof updateConfigInputSchema>;

export const configRefSchema = z.object({ configId: configIdSchema, number: z.number().int() });
export type ConfigRef = z.infer<typeof configRefSchema>;

/** The column is a 32-bit integer. */
const versionNumberSchema = z.number().int().max(2_147_483_647);

export const configVersionInputSchema = placementInputSchema.extend({ number: versionNumberSchema.min(1) });
export type ConfigVersionInput = z.infer<typeof configVersionInputSchema>;

/** Part of a version that a restore leaves as it is now. */
export const leftOutSchema = z.object({
  /** Path of the setting, such as `buildServerId` or `variables.TOKEN`. */
  name: z.string(),
  /**
   * `server_missing`: the server was deleted. `is_secret`: a secret has the name of the plain variable now. `was_secret`: a
   * secret had it, and was deleted.
   */
  reason: z.enum(['server_missing', 'is_secret', 'was_secret']),
});
export type LeftOut = z.infer<typeof leftOutSchema>;

export const configVersionSchema = z.object({
  id: configIdSchema,
  number: z.number().int(),
  createdAt: z.date(),
  /** Settings that a restore of the version saves. */
  settings: settingsSchema,
  leftOut: z.array(leftOutSchema),
});
export type ConfigVersionView = z.infer<typeof configVersionSchema>;

export const restoreConfigInputSchema = configVersionInputSchema.extend({
  /** Newest version that the caller compared with. The call is rejected if there is a newer one. Absent: any. */
  newestNumber: versionNumberSchema.min(0).optional(),
  /** Names that the caller expects in `leftOut`. The call is rejected if they differ. Absent: any. */
  leftOut: z.array(z.string().max(300)).max(300).optional(),
});
export type RestoreConfigInput = z.infer<typeof restoreConfigInputSchema>;

export const restoredConfigSchema = configRefSchema.extend({ leftOut: z.array(leftOutSchema) });
export type RestoredConfig = z.infer<typeof restoredConfigSchema>;

export const listConfigsInputSchema = pageInputSchema.extend(placementInputSchema.shape);
export type ListConfigsInput = z.infer<typeof listConfigsInputSchema>;
export const configPageSchema = pageSchema(
  z.object({
    id: configIdSchema,
    number: z.number().int(),
    createdAt: z.date(),
    authorName: z.string().nullable(),
    /** Names of the fields that differ from the version before. */
    changed: z.array(z.string()),
  }),
);
export type ConfigVersion = z.infer<typeof configPageSchema>['items'][number];

/** A difference of two values, as text that a person reads. Null: it was not there. */
export const differenceSchema = z.object({
  name: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
});
export type Difference = z.infer<typeof differenceSchema>;
