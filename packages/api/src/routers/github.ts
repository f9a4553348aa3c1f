// Procedures of GitHub Apps, their installations and repositories. No transaction is held while GitHub answers.
import { appRefSchema, linkRepository } from '@fairlead/core/app';
import {
  appFoldersOf,
  appRepositorySchema,
  compareAddresses,
  completeInstallInputSchema,
  completeRegistrationInputSchema,
  deleteGithubApp,
  getAppRepository,
  githubAppAddressesSchema,
  githubAppListSchema,
  githubAppRefSchema,
  inspectRepositoryInputSchema,
  linkedInstallationSchema,
  linkRepositoryInputSchema,
  listGithubApps,
  listRepositories,
  listRepositoriesInputSchema,
  recordInstallation,
  recordRegistration,
  recordRepositories,
  recordWebhookUpdate,
  redirectSchema,
  repositoryContentSchema,
  repositoryListSchema,
  repositorySchema,
  requireAppKey,
  requireOauthClient,
  requireRepository,
  startedRegistrationSchema,
  startInstall,
  startRegistration,
  startRegistrationInputSchema,
  syncGithubApp,
  takeState,
} from '@fairlead/core/github';
import { listReach, requireShownTo, throughGithub } from '../github.ts';
import { memberProcedure, memberRequest, router } from '../procedures.ts';
import { approverOfApp, isOrganization, open } from '../protection.ts';
import { byApp } from '../scopes.ts';

export const githubRouter = router({
  listApps: memberProcedure('app.write')
    .output(githubAppListSchema)
    .query(({ ctx }) => listGithubApps(ctx.core)),

  startRegistration: memberProcedure('organization.write', {
    input: startRegistrationInputSchema,
    fresh: true,
    protection: isOrganization,
  })
    .output(startedRegistrationSchema)
    .mutation(({ ctx, input }) => startRegistration(ctx.core, input, ctx.config)),

  /** Stores the app that GitHub made; returns where to install it. */
  completeRegistration: memberRequest('organization.write', {
    input: completeRegistrationInputSchema,
    fresh: true,
    protection: isOrganization,
    prepare: (core, { state }) => takeState(core, state, 'register'),
  })
    .output(redirectSchema)
    .mutation(async ({ ctx, input }) => {
      const app = await throughGithub(() => ctx.github.convertManifest(ctx.prepared.baseUrl, input.code), {
        not_found: 'github.code_refused',
      });
      return ctx.record((core) => recordRegistration(core, ctx.prepared, app, ctx.secretKeys));
    }),

  startInstall: memberProcedure('organization.write', {
    input: githubAppRefSchema,
    fresh: true,
    protection: isOrganization,
  })
    .output(redirectSchema)
    .mutation(({ ctx, input }) => startInstall(ctx.core, input)),

  completeInstall: memberRequest('organization.write', {
    input: completeInstallInputSchema,
    fresh: true,
    protection: isOrganization,
    prepare: (core, { state }) => takeState(core, state, 'install'),
  })
    .output(linkedInstallationSchema)
    .mutation(async ({ ctx, input }) => {
      const { githubAppId, baseUrl } = ctx.prepared;
      const { key, client } = await ctx.record(async (core) => ({
        key: await requireAppKey(core, githubAppId, ctx.secretKeys),
        client: await requireOauthClient(core, githubAppId, ctx.secretKeys),
      }));
      const { code, installationId } = input;
      await requireShownTo(ctx, { baseUrl, client, code, installationId });
      const facts = await throughGithub(() => ctx.github.getInstallation(key, installationId), {
        not_found: 'github.installation_foreign',
      });
      const repositories = facts.suspendedAt === null ? await listReach(ctx, key, installationId) : [];
      return ctx.record(async (core) => {
        const linked = await recordInstallation(core, githubAppId, facts);
        await recordRepositories(core, linked.installationId, repositories);
        return linked;
      });
    }),

  /** Brings installations and repositories up to date with GitHub. */
  sync: memberRequest('app.write', {
    input: githubAppRefSchema,
    protection: open('it copies what GitHub says'),
    prepare: async (_core, input) => input,
  })
    .output(githubAppListSchema)
    .mutation(async ({ ctx, input }) => {
      const { github, secretKeys: keys, record } = ctx;
      await throughGithub(() => syncGithubApp({ github, keys, record }, input.githubAppId));
      return ctx.record(listGithubApps);
    }),

  /** Compares the addresses of an app at GitHub with those of the dashboard. */
  getAddresses: memberRequest('organization.write', {
    input: githubAppRefSchema,
    prepare: (core, { githubAppId }, { secretKeys }) => requireAppKey(core, githubAppId, secretKeys),
  })
    .output(githubAppAddressesSchema)
    .query(async ({ ctx, input }) => {
      const atGithub = await throughGithub(() => ctx.github.getAppAddresses(ctx.prepared));
      return ctx.record((core) => compareAddresses(core, input, ctx.config, atGithub));
    }),

  /** Lets GitHub send webhooks to the address of the dashboard. */
  updateWebhook: memberRequest('organization.write', {
    input: githubAppRefSchema,
    fresh: true,
    protection: isOrganization,
    prepare: (core, { githubAppId }, { secretKeys }) => requireAppKey(core, githubAppId, secretKeys),
  })
    .output(githubAppRefSchema)
    .mutation(async ({ ctx, input }) => {
      const { github, config, prepared: key } = ctx;
      const atGithub = await throughGithub(() => github.getAppAddresses(key));
      const { webhook } = await ctx.record((core) => compareAddresses(core, input, config, atGithub));
      const { atGithub: before, expected: after } = webhook;
      await throughGithub(() => github.updateWebhookUrl(key, after));
      return ctx.record((core) => recordWebhookUpdate(core, input, { before, after }));
    }),

  deleteApp: memberProcedure('organization.write', {
    input: githubAppRefSchema,
    fresh: true,
    protection: isOrganization,
  })
    .output(githubAppRefSchema)
    .mutation(({ ctx, input }) => deleteGithubApp(ctx.core, input)),

  listRepositories: memberProcedure('app.write', { input: listRepositoriesInputSchema })
    .output(repositoryListSchema)
    .query(({ ctx, input }) => listRepositories(ctx.core, input)),

  /** Returns branches, and folders that may be apps. */
  inspectRepository: memberRequest('app.write', {
    input: inspectRepositoryInputSchema,
    prepare: requireRepository,
  })
    .output(repositoryContentSchema)
    .query(async ({ ctx, input }) => {
      const { githubAppId, githubInstallationId, repositoryId, fullName, baseUrl, defaultBranch } = ctx.prepared;
      const key = await ctx.record((core) => requireAppKey(core, githubAppId, ctx.secretKeys));
      return throughGithub(
        async () => {
          const grant = { permissions: { contents: 'read', metadata: 'read' }, repositoryIds: [repositoryId] } as const;
          const { token } = await ctx.github.createToken(key, githubInstallationId, grant);
          const branches = (await ctx.github.listBranches(baseUrl, token, fullName)).map(({ name }) => name);
          const ref = input.branch === '' ? defaultBranch : input.branch;
          if (!branches.includes(ref)) return { branches, folders: [] };
          return { branches, folders: appFoldersOf(await ctx.github.listPaths(baseUrl, token, { fullName, ref })) };
        },
        { not_found: 'github.repository_not_found', invalid: 'github.repository_not_found' },
      );
    }),

  getAppRepository: memberProcedure('app.read', { input: appRefSchema, scope: byApp })
    .output(appRepositorySchema)
    .query(({ ctx, input }) => getAppRepository(ctx.core, input)),

  /** Makes a repository the source of an app. */
  linkRepository: memberProcedure('app.write', { input: linkRepositoryInputSchema, protection: approverOfApp })
    .output(repositorySchema)
    .mutation(({ ctx, input }) => linkRepository(ctx.core, input)),
});
