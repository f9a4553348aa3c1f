// Root router with all procedures. The web app composes the database, auth and the live source.
import { router } from './procedures.ts';
import { accountRouter } from './routers/account.ts';
import { agentRolloutRouter } from './routers/agent-rollout.ts';
import { appRouter } from './routers/app.ts';
import { auditRouter } from './routers/audit.ts';
import { benchmarkRouter } from './routers/benchmark.ts';
import { benchmarkPlanRouter } from './routers/benchmark-plan.ts';
import { certificateRouter } from './routers/certificate.ts';
import { configRouter } from './routers/config.ts';
import { controlPlaneRouter } from './routers/control-plane.ts';
import { credentialRouter } from './routers/credential.ts';
import { dashboardDomainRouter } from './routers/dashboard-domain.ts';
import { deploymentRouter } from './routers/deployment.ts';
import { dnsProviderRouter } from './routers/dns-provider.ts';
import { domainRouter } from './routers/domain.ts';
import { environmentRouter } from './routers/environment.ts';
import { githubRouter } from './routers/github.ts';
import { grantRouter } from './routers/grant.ts';
import { hostRouter } from './routers/host.ts';
import { invitationRouter } from './routers/invitation.ts';
import { liveRouter } from './routers/live.ts';
import { logRouter } from './routers/log.ts';
import { memberRouter } from './routers/member.ts';
import { metricRouter } from './routers/metric.ts';
import { organizationRouter } from './routers/organization.ts';
import { overviewRouter } from './routers/overview.ts';
import { previewRouter } from './routers/preview.ts';
import { projectRouter } from './routers/project.ts';
import { pushRouter } from './routers/push.ts';
import { releaseRouter } from './routers/release.ts';
import { roleRouter } from './routers/role.ts';
import { secretRouter } from './routers/secret.ts';
import { serverRouter } from './routers/server.ts';
import { serviceAccountRouter } from './routers/service-account.ts';
import { sessionRouter } from './routers/session.ts';
import { setupRouter } from './routers/setup.ts';
import { sourceRouter } from './routers/source.ts';
import { tokenRouter } from './routers/token.ts';
import { variableRouter } from './routers/variable.ts';
import { volumeRouter } from './routers/volume.ts';
import { volumeMoveRouter } from './routers/volume-move.ts';
import { webhookRouter } from './routers/webhook.ts';

export const apiRouter = router({
  account: accountRouter,
  agentRollout: agentRolloutRouter,
  app: appRouter,
  audit: auditRouter,
  benchmark: benchmarkRouter,
  benchmarkPlan: benchmarkPlanRouter,
  config: configRouter,
  credential: credentialRouter,
  dnsProvider: dnsProviderRouter,
  deployment: deploymentRouter,
  certificate: certificateRouter,
  domain: domainRouter,
  host: hostRouter,
  environment: environmentRouter,
  github: githubRouter,
  grant: grantRouter,
  controlPlane: controlPlaneRouter,
  dashboardDomain: dashboardDomainRouter,
  invitation: invitationRouter,
  live: liveRouter,
  log: logRouter,
  member: memberRouter,
  metric: metricRouter,
  organization: organizationRouter,
  overview: overviewRouter,
  preview: previewRouter,
  project: projectRouter,
  push: pushRouter,
  release: releaseRouter,
  role: roleRouter,
  secret: secretRouter,
  server: serverRouter,
  serviceAccount: serviceAccountRouter,
  session: sessionRouter,
  setup: setupRouter,
  source: sourceRouter,
  token: tokenRouter,
  variable: variableRouter,
  volume: volumeRouter,
  webhook: webhookRouter,
  volumeMove: volumeMoveRouter,
});

/** The only thing that clients import, as a type. */
export type AppRouter = typeof apiRouter;
