// Owns the tree of procedures. Composition (database, auth, live source) is the web app's.
import { router } from './ladder.ts';
import { accountRouter } from './routers/account.ts';
import { appRouter } from './routers/app.ts';
import { benchmarkRouter } from './routers/benchmark.ts';
import { deploymentRouter } from './routers/deployment.ts';
import { domainRouter } from './routers/domain.ts';
import { liveRouter } from './routers/live.ts';
import { memberRouter } from './routers/member.ts';
import { metricRouter } from './routers/metric.ts';
import { overviewRouter } from './routers/overview.ts';
import { releaseRouter } from './routers/release.ts';
import { secretRouter } from './routers/secret.ts';
import { serverRouter } from './routers/server.ts';
import { sessionRouter } from './routers/session.ts';
import { setupRouter } from './routers/setup.ts';

export const apiRouter = router({
  account: accountRouter,
  app: appRouter,
  benchmark: benchmarkRouter,
  deployment: deploymentRouter,
  domain: domainRouter,
  live: liveRouter,
  member: memberRouter,
  metric: metricRouter,
  overview: overviewRouter,
  release: releaseRouter,
  secret: secretRouter,
  server: serverRouter,
  session: sessionRouter,
  setup: setupRouter,
});

/** The only thing that clients import, as a type. */
export type AppRouter = typeof apiRouter;
