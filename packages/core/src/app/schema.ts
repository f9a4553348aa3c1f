// Schemas of apps in the API, with the accepted health paths and commands.

import {
  appIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  instanceIdSchema,
  projectIdSchema,
  releaseIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { attentionFilterSchema } from '../attention/schema.ts';
import { imageSchema, updateConfigInputSchema } from '../config/schema.ts';
import { rotateKeyInputSchema, updateCredentialInputSchema } from '../credential/schema.ts';
import { deploymentStateSchema, deploymentTriggerSchema, digestSchema, waitSchema } from '../deployment/schema.ts';
import { attachDomainInputSchema, domainSchema } from '../domain/schema.ts';
import { createEnvironmentInputSchema } from '../environment/schema.ts';
import { repositoryRefSchema } from '../github/schema.ts';
import { countedPageSchema, pageInputSchema, searchSchema } from '../kernel/page.ts';
import { commandSchema, healthPathSchema } from '../kernel/process.ts';
import { nameSchema, slugSchema } from '../kernel/text.ts';
import { placementRefSchema } from '../placement/schema.ts';
import { secretItemsSchema, secretsProblemSchema } from '../secret/schema.ts';
import { branchSchema, repositoryUrlSchema, rootFolderSchema } from '../source/schema.ts';
import { templateIdSchema } from '../template/schema.ts';

export const appStatusSchema = z.enum([
  'not_deployed',
  'deploying',
  'healthy',
  'unhealthy',
  'failed',
  'server_offline',
]);
export type AppStatus = z.infer<typeof appStatusSchema>;

export { commandSchema, healthPathSchema } from '../kernel/process.ts';

export const instanceStateSchema = z.enum([
  'starting',
  'healthy',
  'unhealthy',
  'draining',
  'stopped',
  'crashed',
  'crash_looping',
  'asleep',
]);
export type InstanceStateName = z.infer<typeof instanceStateSchema>;

const releaseBriefSchema = z.object({
  id: releaseIdSchema,
  number: z.number().int(),
  commitHash: z.string(),
  commitSubject: z.string(),
});

const deploymentBriefSchema = z.object({
  id: deploymentIdSchema,
  number: z.number().int(),
  state: deploymentStateSchema,
  trigger: deploymentTriggerSchema,
  commitHash: z.string().nullable(),
  commitSubject: z.string().nullable(),
  queuedAt: z.date(),
  finishedAt: z.date().nullable(),
});
export type DeploymentBrief = z.infer<typeof deploymentBriefSchema>;

export const appSummarySchema = z.object({
  id: appIdSchema,
  name: z.string(),
  slug: slugSchema,
  projectId: projectIdSchema,
  projectName: z.string(),
  repositoryUrl: z.string(),
  rootFolder: z.string(),
  branch: z.string(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  /** True in the primary environment, which URLs need not name. */
  isPrimary: z.boolean(),
  serverId: serverIdSchema,
  serverName: z.string(),
  /**
   * Number of servers that it runs on in this environment. The first is the one named here; figures cover all of them.
   */
  serverCount: z.number().int(),
  status: appStatusSchema,
  /** The first domain, as a person opens it; null without one. */
  url: z.string().nullable(),
  hosts: z.array(z.string()),
  liveRelease: releaseBriefSchema.nullable(),
  lastDeployment: deploymentBriefSchema.nullable(),
  requestsPerSecond: z.number(),
  errorsPerSecond: z.number(),
  p99Ms: z.number().nullable(),
  /** Requests per second of the last 30 minutes, oldest first, one number a minute. */
  sparkline: z.array(z.number()),
  createdAt: z.date(),
});
export type AppSummary = z.infer<typeof appSummarySchema>;

export const appInstanceSchema = z.object({
  id: instanceIdSchema,
  state: instanceStateSchema,
  releaseId: releaseIdSchema,
  releaseNumber: z.number().int(),
  serverId: serverIdSchema,
  serverName: z.string(),
  /** "web", or the name of a worker. */
  process: z.string(),
  /** 1000 = one core. */
  cpuMillis: z.number().int(),
  memoryBytes: z.number().int(),
  pid: z.number().int().nullable(),
  port: z.number().int().nullable(),
  restarts: z.number().int(),
  detail: z.string(),
  startedAt: z.date().nullable(),
  reportedAt: z.date(),
});

export const appDetailSchema = appSummarySchema.extend({
  command: z.array(z.string()),
  healthPath: z.string(),
  instancesWanted: z.number().int(),
  instances: z.array(appInstanceSchema),
  domains: z.array(domainSchema.pick({ id: true, host: true, pathPrefix: true, url: true, hasPolicy: true })),
  serverConnected: z.boolean(),
  /** Problem that keeps its secrets from the server: running instances continue, and no new one starts. */
  secretsProblem: secretsProblemSchema.nullable(),
  /** Reason why the newest deployment is not live; null if none is running. */
  waiting: waitSchema.nullable(),
  deploysPaused: z.boolean(),
  /** The image that its settings name instead of a repository; null: they name none. */
  image: z.string().nullable(),
  /** Title of the template that it consists of; null after an upload, and with a repository or an image. */
  template: z.string().nullable(),
  /** All environments where the app runs, the primary one first. */
  placements: z.array(
    z.object({
      environmentId: environmentIdSchema,
      environmentName: z.string(),
      /** Deployments wait for approval there, and other changes need `deployment.approve`. */
      protected: z.boolean(),
      branch: z.string(),
      liveReleaseNumber: z.number().int().nullable(),
      servers: z.array(
        z.object({
          serverId: serverIdSchema,
          serverName: z.string(),
          connected: z.boolean(),
          /** Cores of the machine; 0: not reported yet. */
          cpuCount: z.number().int(),
          liveReleaseNumber: z.number().int().nullable(),
        }),
      ),
    }),
  ),
});
export type AppDetail = z.infer<typeof appDetailSchema>;

export const appSortSchema = z.enum(['name', 'last_deployment', 'requests', 'errors', 'p99']);
export type AppSort = z.infer<typeof appSortSchema>;

export const listAppsInputSchema = pageInputSchema.extend({
  /** Part of the name, the address of the repository or a host; or the app's id. */
  search: searchSchema.optional(),
  /** Default: all projects. */
  projectId: projectIdSchema.optional(),
  /** Shows each app in this environment; default: in its primary one. */
  environmentId: environmentIdSchema.optional(),
  serverId: serverIdSchema.optional(),
  branch: branchSchema.optional(),
  state: appStatusSchema.optional(),
  /** Default: by name. Figures are those of the last seconds, as in the list. */
  sort: appSortSchema.optional(),
  /** Default: names ascending, everything else descending. Apps without the value come last. */
  order: z.enum(['asc', 'desc']).optional(),
  /** Only those that need attention. */
  attention: attentionFilterSchema.optional(),
});
export type ListAppsInput = z.infer<typeof listAppsInputSchema>;
export const appPageSchema = countedPageSchema(appSummarySchema);

/** Default environment: the primary one. */
export const getAppInputSchema = z.object({ slug: slugSchema, environmentId: environmentIdSchema.optional() });
export type GetAppInput = z.infer<typeof getAppInputSchema>;

/** Limits the size of one transaction; far more than an app needs. */
const serversMax = 100;

/** Servers of an app in one environment. The first is the primary one. */
const serverIdsSchema = z
  .array(serverIdSchema)
  .min(1, 'Choose a server.')
  .max(serversMax, `An app is added to at most ${serversMax} servers at once.`)
  .refine((ids) => new Set(ids).size === ids.length, 'A server is listed twice.');

export const appSourceSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('git'),
    repositoryUrl: repositoryUrlSchema,
    /** Empty: the repository's default branch. */
    branch: branchSchema.default(''),
    rootFolder: rootFolderSchema.default(''),
  }),
  /** A repository that an installation of the organization's GitHub App reaches. */
  repositoryRefSchema.extend({
    kind: z.literal('github'),
    branch: branchSchema.default(''),
    rootFolder: rootFolderSchema.default(''),
  }),
  z.object({ kind: z.literal('image'), image: imageSchema.min(1, 'Name the image that should run.') }),
  z.object({ kind: z.literal('upload'), rootFolder: rootFolderSchema.default('') }),
  /** An example that comes with the control plane and is deployed like an upload. */
  z.object({ kind: z.literal('template'), template: templateIdSchema }),
]);
export type AppSource = z.infer<typeof appSourceSchema>;

/** A user name and password for the host of the source, or a deploy key (`ssh`) that is created with the app. */
const newCredentialSchema = z.discriminatedUnion('kind', [
  updateCredentialInputSchema.omit({ appId: true }),
  rotateKeyInputSchema.omit({ appId: true }).extend({ kind: z.literal('ssh') }),
]);
export type NewCredential = z.infer<typeof newCredentialSchema>;

const newDomainSchema = attachDomainInputSchema.pick({ host: true, pathPrefix: true });

/** An app and all its parts. It is stored completely or not at all. */
export const createAppInputSchema = z
  .object({
    name: nameSchema,
    source: appSourceSchema,
    credential: newCredentialSchema.optional(),
    /** Primary environment; default: the organization's first environment. */
    environmentId: environmentIdSchema.optional(),
    serverIds: serverIdsSchema,
    healthPath: healthPathSchema.default(''),
    command: commandSchema.default([]),
    /** Settings that differ from the defaults. `source` names the image. */
    settings: updateConfigInputSchema.shape.settings.omit({ image: true }).default({}),
    secrets: secretItemsSchema.optional(),
    /** First domain; without it the app runs, but no route leads to it. */
    domain: newDomainSchema.optional(),
    /** `deploy` deploys the source at once; a digest deploys an upload. */
    firstDeploy: z.union([z.enum(['deploy', 'none']), z.object({ uploadDigest: digestSchema })]).default('deploy'),
  })
  .superRefine(({ source, credential, settings, firstDeploy }, check) => {
    if (source.kind === 'image' && (settings.builder ?? 'image') !== 'image')
      check.addIssue({
        code: 'custom',
        message: 'An image has no other builder. Leave this out.',
        path: ['settings', 'builder'],
      });
    if (source.kind === 'template' && firstDeploy !== 'deploy')
      check.addIssue({
        code: 'custom',
        message: 'A template is deployed when its app is created. Leave this out.',
        path: ['firstDeploy'],
      });
    if (credential?.kind === 'ssh' && firstDeploy === 'deploy')
      check.addIssue({
        code: 'custom',
        message: 'The repository needs the deploy key first. Create the app without a deployment.',
        path: ['firstDeploy'],
      });
  });
export type CreateAppInput = z.infer<typeof createAppInputSchema>;

export const createAppOutputSchema = z.object({
  id: appIdSchema,
  slug: slugSchema,
  deploymentId: deploymentIdSchema.nullable(),
  /** Public key of the deploy key, which the host of the repository needs; null without one. */
  publicKey: z.string().nullable(),
});
export type CreatedApp = z.infer<typeof createAppOutputSchema>;

/** Settings take effect with the next deployment, but `branch` from now on and in one environment. */
export const updateAppInputSchema = z.object({
  appId: appIdSchema,
  /** Environment that `branch` applies to; default: the primary one. */
  environmentId: environmentIdSchema.optional(),
  name: nameSchema.optional(),
  repositoryUrl: repositoryUrlSchema.optional(),
  branch: branchSchema.optional(),
  rootFolder: rootFolderSchema.optional(),
  healthPath: healthPathSchema.optional(),
  command: commandSchema.optional(),
});
export type UpdateAppInput = z.infer<typeof updateAppInputSchema>;

export const appIdentitySchema = z.object({ id: appIdSchema, slug: slugSchema });
export type AppIdentity = z.infer<typeof appIdentitySchema>;

export const deleteAppInputSchema = z.object({ appId: appIdSchema, confirmName: z.string().max(200) });
export type DeleteAppInput = z.infer<typeof deleteAppInputSchema>;
export const deleteAppOutputSchema = appIdentitySchema.extend({ purgeAt: z.date() });
export type DeleteAppOutput = z.infer<typeof deleteAppOutputSchema>;

export const appRefSchema = z.object({ appId: appIdSchema });
export type AppRef = z.infer<typeof appRefSchema>;

/** A deleted app that waits for its purge. */
export const deletedAppSchema = z.object({
  id: appIdSchema,
  name: z.string(),
  slug: slugSchema,
  projectId: projectIdSchema,
  projectName: z.string(),
  deletedAt: z.date(),
  /** When it is deleted permanently. */
  purgeAt: z.date(),
  /** Name of the member who deleted it; null for a service account or a former member. */
  deletedBy: z.string().nullable(),
});
export type DeletedApp = z.infer<typeof deletedAppSchema>;
export const deletedAppListSchema = z.object({ items: z.array(deletedAppSchema) });
export type DeletedAppList = z.infer<typeof deletedAppListSchema>;

/** Adds an app to an environment, with the settings of its primary one, completely or not at all. */
export const addEnvironmentInputSchema = z.object({
  appId: appIdSchema,
  /** An environment of the app's project, or a new one. */
  environment: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('existing'), environmentId: environmentIdSchema }),
    createEnvironmentInputSchema.omit({ projectId: true }).extend({ kind: z.literal('new') }),
  ]),
  serverIds: serverIdsSchema,
  /** Default: the branch of the primary environment. */
  branch: branchSchema.optional(),
  domain: newDomainSchema.optional(),
  /** `deploy` deploys the branch or image at once; a release of another environment is promoted. */
  firstDeploy: z.union([z.enum(['deploy', 'none']), z.object({ releaseId: releaseIdSchema })]).default('deploy'),
});
export type AddEnvironmentInput = z.infer<typeof addEnvironmentInputSchema>;

export const addedEnvironmentSchema = placementRefSchema.extend({ deploymentId: deploymentIdSchema.nullable() });
export type AddedEnvironment = z.infer<typeof addedEnvironmentSchema>;

/** The name of the app. */
export const detachEnvironmentInputSchema = placementRefSchema.extend({ confirmName: z.string().max(200) });
export type DetachEnvironmentInput = z.infer<typeof detachEnvironmentInputSchema>;

export const getAppMoveInputSchema = z.object({ appId: appIdSchema });
export type GetAppMoveInput = z.infer<typeof getAppMoveInputSchema>;

/** Environments that a move to another project must map, and everything that blocks the move. */
export const appMoveSchema = z.object({
  environments: z.array(
    z.object({
      environmentId: environmentIdSchema,
      environmentName: z.string(),
      /** False if the app has left the environment; its history, settings and secrets there move too. */
      runs: z.boolean(),
    }),
  ),
  /** Attached groups, which belong to the project. */
  secretGroups: z.array(z.string()),
  /** Volumes in any environment. */
  volumes: z.array(z.string()),
  /** Hosts that other apps also use. */
  sharedHosts: z.array(z.string()),
  /** True while a deployment waits or runs. */
  underWay: z.boolean(),
});
export type AppMove = z.infer<typeof appMoveSchema>;

const moveEnvironmentsMax = 100;

export const moveAppInputSchema = z.object({
  appId: appIdSchema,
  projectId: projectIdSchema,
  /** An environment of the other project for each environment of the app. */
  environments: z
    .array(z.object({ from: environmentIdSchema, to: environmentIdSchema }))
    .min(1)
    .max(moveEnvironmentsMax),
});
export type MoveAppInput = z.infer<typeof moveAppInputSchema>;
