// Schemas of a release, which is immutable.

import { appIdSchema, environmentIdSchema, releaseIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { differenceSchema } from '../config/schema.ts';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';
import { placementInputSchema } from '../placement/schema.ts';

export const releaseSchema = z.object({
  id: releaseIdSchema,
  number: z.number().int(),
  commitHash: z.string(),
  commitSubject: z.string(),
  commitAuthor: z.string(),
  committedAt: z.date(),
  artifactDigest: z.string(),
  artifactSizeBytes: z.number().int(),
  runtime: z.string(),
  command: z.array(z.string()),
  createdAt: z.date(),
  isLive: z.boolean(),
  /** Number of its settings version; 0: the defaults. */
  configNumber: z.number().int(),
  /** True if its artifact is kept, so it can be rolled out again without a build. */
  isKept: z.boolean(),
});
export type ReleaseView = z.infer<typeof releaseSchema>;

export const listReleasesInputSchema = pageInputSchema.extend(placementInputSchema.shape);
export type ListReleasesInput = z.infer<typeof listReleasesInputSchema>;
export const releasePageSchema = pageSchema(releaseSchema);

/** Compares two releases. */
export const diffReleasesInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  fromReleaseId: releaseIdSchema,
  toReleaseId: releaseIdSchema,
});
export type DiffReleasesInput = z.infer<typeof diffReleasesInputSchema>;

export const releaseDiffSchema = z.object({
  fromNumber: z.number().int(),
  toNumber: z.number().int(),
  /** Commit, artifact and runtime. */
  artifact: z.array(differenceSchema),
  settings: z.array(differenceSchema),
  /**
   * Names only: values are never shown. `before` and `after` say "set" or, when only the value differs, the version.
   */
  secrets: z.array(differenceSchema),
});
export type ReleaseDiff = z.infer<typeof releaseDiffSchema>;

const plannedProcess = z.object({
  name: z.string(),
  command: z.array(z.string()),
  instances: z.number().int(),
  memoryBytesMax: z.number().default(0),
  cpuMillisMax: z.number().default(0),
  staysAwake: z.boolean().default(false),
});

/** Plan of a release: the builder's detections and the contents of a committed file of the app. */
export const releasePlanSchema = z.object({
  /** Detections and decisions, a sentence each. */
  sentences: z.array(z.string()).default([]),
  workers: z.array(plannedProcess).default([]),
  toolchains: z.array(z.string()).default([]),
  releaseCommand: z.array(z.string()).default([]),
  /** It has a Unix socket instead of a port. */
  listensOnSocket: z.boolean().default(false),
  /** Names of secrets and variables in the repository's .env.example. */
  expectedVariables: z.array(z.string()).default([]),
});
export type ReleasePlan = z.infer<typeof releasePlanSchema>;
