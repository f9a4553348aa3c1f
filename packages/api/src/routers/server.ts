// Procedures of servers and their enrolment.
import {
  drainServer,
  drainServerInputSchema,
  getDrain,
  serverDrainInputSchema,
  serverDrainSchema,
} from '@fairlead/core/placement';
import {
  createEnrolment,
  deleteServer,
  deleteServerInputSchema,
  enrolmentCommand,
  enrolmentCommandSchema,
  enrolmentSchema,
  enrolServerInputSchema,
  getEnrolment,
  getEnrolmentInputSchema,
  getServer,
  getServerInputSchema,
  listServers,
  listServersInputSchema,
  serverAddressesSchema,
  serverDetailSchema,
  serverListSchema,
  uninstallServer,
  uninstallServerInputSchema,
  updateAddresses,
  updateAddressesInputSchema,
  updateProxy,
  updateProxyInputSchema,
  upgradeServer,
  upgradeServerInputSchema,
} from '@fairlead/core/server';
import { proxySettingsSchema } from '@fairlead/core/traffic';
import { moveApps, moveAppsInputSchema, movedAppsSchema } from '@fairlead/core/volume-move';
import { findAttention } from '../attention.ts';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfDrain, approverOfServer, approverOfUninstall, open } from '../protection.ts';
import { deletesVolumesOfServer, drainsAppsOfServer, movesAppsOfServer } from '../scopes.ts';
import { storeAgent } from '../store-agent.ts';

export const serverRouter = router({
  list: memberProcedure('server.read', { input: listServersInputSchema })
    .output(serverListSchema)
    .query(async ({ ctx, input }) =>
      listServers(ctx.core, input, await ctx.config.agentOffers.list(), await findAttention(ctx, input.attention)),
    ),

  get: memberProcedure('server.read', { input: getServerInputSchema })
    .output(serverDetailSchema)
    .query(async ({ ctx, input }) => {
      const { agentOffers, localHttpsPort } = ctx.config;
      return getServer(ctx.core, input, { offers: await agentOffers.list(), localHttpsPort });
    }),

  enrol: memberProcedure('server.enrol', {
    input: enrolServerInputSchema,
    fresh: true,
    protection: open('a new server has no app'),
  })
    .output(enrolmentCommandSchema)
    .mutation(async ({ ctx, input }) => {
      const script = await ctx.config.agentDownload();
      const { enrolmentId, token, expiresAt } = await createEnrolment(ctx.core, { name: input.name, isLocal: false });
      const { caFingerprint } = script;
      const command = enrolmentCommand({ script: { ...script, isTrusted: caFingerprint === null }, token });
      return { enrolmentId, expiresAt, command, caFingerprint };
    }),

  enrolment: memberProcedure('server.enrol', { input: getEnrolmentInputSchema })
    .output(enrolmentSchema)
    .query(({ ctx, input }) => getEnrolment(ctx.core, input)),

  updateProxy: memberProcedure('server.write', { input: updateProxyInputSchema, protection: approverOfServer })
    .output(proxySettingsSchema)
    .mutation(({ ctx, input }) => updateProxy(ctx.core, input)),

  updateAddresses: memberProcedure('server.write', {
    input: updateAddressesInputSchema,
    protection: approverOfServer,
  })
    .output(serverAddressesSchema)
    .mutation(({ ctx, input }) => updateAddresses(ctx.core, input)),

  upgrade: memberProcedure('server.upgrade', { input: upgradeServerInputSchema, protection: approverOfServer })
    .output(getServerInputSchema)
    .mutation(async ({ ctx, input }) => {
      const { serverId, offer } = await upgradeServer(ctx.core, input, await ctx.config.agentOffers.list());
      await storeAgent(ctx, offer);
      return { serverId };
    }),

  drainState: memberProcedure('server.read', { input: serverDrainInputSchema })
    .output(serverDrainSchema)
    .query(({ ctx, input }) => getDrain(ctx.core, input)),

  drain: memberProcedure('server.write', {
    input: drainServerInputSchema,
    also: drainsAppsOfServer,
    protection: approverOfDrain,
  })
    .output(serverDrainSchema)
    .mutation(({ ctx, input }) => drainServer(ctx.core, input, ctx.verifyRights)),

  // Fresh, as each app that opens its network to another server needs it.
  moveApps: memberProcedure('server.write', {
    input: moveAppsInputSchema,
    also: movesAppsOfServer,
    protection: approverOfServer,
    fresh: true,
  })
    .output(movedAppsSchema)
    .mutation(({ ctx, input }) => moveApps(ctx.core, input, ctx.verifyRights)),

  // Fresh, as it removes files of a machine, and with `withData` the data of apps.
  uninstall: memberProcedure('server.delete', {
    input: uninstallServerInputSchema,
    also: deletesVolumesOfServer,
    protection: approverOfUninstall,
    fresh: true,
  })
    .output(getServerInputSchema)
    .mutation(({ ctx, input }) => uninstallServer(ctx.core, input)),

  delete: memberProcedure('server.delete', { input: deleteServerInputSchema, protection: approverOfServer })
    .output(getServerInputSchema)
    .mutation(({ ctx, input }) => deleteServer(ctx.core, input)),
});
