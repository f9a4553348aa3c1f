// Root router with all procedures. The web app composes the database, auth and the live source.
import { router } from './procedures.ts';
import { accountRouter } from './routers/account.ts';
import { agentRolloutRouter } from './routers/agent-rollout.ts';
import { appRouter } from './routers/app.ts';
import { auditRouter } from './routers/audit.ts';
import { benchmarkRouter } from './routers/benchmark.ts';
import { certificateRouter } from './routers/certificate.ts';
import { configRouter } from './routers/config.ts';
import { controlPlaneRouter } from './routers/control-plane.ts';
import { credentialRouter } from './routers/credential.ts';
import { deploymentRouter } from './routers/deployment.ts';
import { domainRouter } from './routers/domain.ts';
import { environmentRouter } from './routers/environment.ts';
import { grantRouter } from './routers/grant.ts';
import { invitationRouter } from './routers/invitation.ts';
import { liveRouter } from './routers/live.ts';
import { logRouter } from './routers/log.ts';
import { memberRouter } from './routers/member.ts';
import { metricRouter } from './routers/metric.ts';
import { organizationRouter } from './routers/organization.ts';
import { overviewRouter } from './routers/overview.ts';
import { projectRouter } from './routers/project.ts';
import { releaseRouter } from './routers/release.ts';
import { roleRouter } from './routers/role.ts';
import { secretRouter } from './routers/secret.ts';
import { serverRouter } from './routers/server.ts';
import { serviceAccountRouter } from './routers/service-account.ts';
import { sessionRouter } from './routers/session.ts';
import { setupRouter } from './routers/setup.ts';
import { sourceRouter } from './routers/source.ts';
import { tokenRouter } from './routers/token.ts';
import { volumeRouter } from './routers/volume.ts';

export const apiRouter = router({
  account: accountRouter,
  agentRollout: agentRolloutRouter,
  app: appRouter,
  audit: auditRouter,
  benchmark: benchmarkRouter,
  config: configRouter,
  credential: credentialRouter,
  deployment: deploymentRouter,
  certificate: certificateRouter,
  domain: domainRouter,
  environment: environmentRouter,
  grant: grantRouter,
  controlPlane: controlPlaneRouter,
  invitation: invitationRouter,
  live: liveRouter,
  log: logRouter,
  member: memberRouter,
  metric: metricRouter,
  organization: organizationRouter,
  overview: overviewRouter,
  project: projectRouter,
  release: releaseRouter,
  role: roleRouter,
  secret: secretRouter,
  server: serverRouter,
  serviceAccount: serviceAccountRouter,
  session: sessionRouter,
  setup: setupRouter,
  source: sourceRouter,
  token: tokenRouter,
  volume: volumeRouter,
});

/** The only thing that clients import, as a type. */
export type AppRouter = typeof apiRouter;
