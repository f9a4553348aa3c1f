// Owns the procedures of servers and their enrolment.
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
  serverDetailSchema,
  serverListSchema,
  updateProxy,
  updateProxyInputSchema,
} from '@fairlead/core/server';
import { proxySettingsSchema } from '@fairlead/core/traffic';
import { memberProcedure, router } from '../ladder.ts';

export const serverRouter = router({
  list: memberProcedure('server.read')
    .output(serverListSchema)
    .query(({ ctx }) => listServers(ctx.core)),

  get: memberProcedure('server.read')
    .input(getServerInputSchema)
    .output(serverDetailSchema)
    .query(({ ctx, input }) => getServer(ctx.core, input)),

  enrol: memberProcedure('server.enrol')
    .input(enrolServerInputSchema)
    .output(enrolmentCommandSchema)
    .mutation(async ({ ctx, input }) => {
      const script = await ctx.config.agentDownload();
      const { enrolmentId, token, expiresAt } = await createEnrolment(ctx.core, { name: input.name, isLocal: false });
      return { enrolmentId, expiresAt, command: enrolmentCommand({ script, token }) };
    }),

  enrolment: memberProcedure('server.enrol')
    .input(getEnrolmentInputSchema)
    .output(enrolmentSchema)
    .query(({ ctx, input }) => getEnrolment(ctx.core, input)),

  updateProxy: memberProcedure('server.write')
    .input(updateProxyInputSchema)
    .output(proxySettingsSchema)
    .mutation(({ ctx, input }) => updateProxy(ctx.core, input)),

  delete: memberProcedure('server.delete')
    .input(deleteServerInputSchema)
    .output(getServerInputSchema)
    .mutation(({ ctx, input }) => deleteServer(ctx.core, input)),
});
