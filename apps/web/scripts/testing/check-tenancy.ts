// `npm run check:tenancy`: calls every procedure and HTTP route with every role and with foreign ids, on a database of its
// own. Prints leaks and exits with 1 on any; the API's tests run the same code on a planted leak.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkMatrix, origin, type RouteHandlers, startApi } from '@fairlead/api/testing/matrix';
import { cloneDatabase, startTestCluster } from '@fairlead/db/testing/cluster';
import * as securityText from '../../src/app/.well-known/security.txt/route.ts';
import * as auditExport from '../../src/app/api/audit/export/route.ts';
import * as auth from '../../src/app/api/auth/[...all]/route.ts';
import * as upload from '../../src/app/api/deployment/upload/route.ts';
import * as trpc from '../../src/app/api/trpc/[trpc]/route.ts';
import * as http from '../../src/app/api/v1/[...path]/route.ts';
import * as webhook from '../../src/app/api/webhook/[endpoint]/route.ts';
import * as healthz from '../../src/app/healthz/route.ts';
import * as agent from '../../src/app/install/agent/[target]/route.ts';
import * as script from '../../src/app/install/agent.sh/route.ts';
import * as authority from '../../src/app/install/ca.pem/route.ts';
import * as reportImage from '../../src/app/reports/[reportId]/image.png/route.ts';
import * as reportPage from '../../src/app/reports/[reportId]/route.ts';
import * as reportRows from '../../src/app/reports/[reportId]/rows.json/route.ts';
import { parts } from '../../src/server/parts.ts';

/** Route handlers as Next would call them. The check reports a declared route that is missing here. */
const routes: RouteHandlers = {
  'reports/[reportId]/route.ts': methodsOf(reportPage),
  'reports/[reportId]/rows.json/route.ts': methodsOf(reportRows),
  'reports/[reportId]/image.png/route.ts': methodsOf(reportImage),
  '.well-known/security.txt/route.ts': methodsOf(securityText),
  'api/audit/export/route.ts': methodsOf(auditExport),
  'api/auth/[...all]/route.ts': methodsOf(auth),
  'api/deployment/upload/route.ts': methodsOf(upload),
  'api/trpc/[trpc]/route.ts': methodsOf(trpc),
  'api/v1/[...path]/route.ts': methodsOf(http),
  'api/webhook/[endpoint]/route.ts': methodsOf(webhook),
  'healthz/route.ts': methodsOf(healthz),
  'install/agent.sh/route.ts': methodsOf(script),
  'install/agent/[target]/route.ts': methodsOf(agent),
  'install/ca.pem/route.ts': methodsOf(authority),
};
const folder = await mkdtemp(join(tmpdir(), 'fairlead-tenancy-'));
const cluster = await startTestCluster();
let leaks: readonly string[];
try {
  const api = await startApi(await cloneDatabase(cluster.templateUrl));
  try {
    await setEnvironment(api.db.url, api.authOptions.secret);
    // Turns off the rate limit: it has tests of its own, and one client makes thousands of calls here.
    // Replaces its methods, because the webhooks hold the same object.
    Object.assign((await parts()).rateLimit, api.parts.rateLimit);
    const report = await checkMatrix(api, { routes });
    leaks = report.leaks;
    for (const leak of leaks) print(leak);
    print(`procedures ${report.procedures}, calls ${report.calls}, leaks ${leaks.length}`);
  } finally {
    await (await parts()).database.close();
    await api.close();
  }
} finally {
  await cluster.stop();
  await rm(folder, { recursive: true });
}
process.exitCode = leaks.length === 0 ? 0 : 1;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Sets the environment that the web process reads, so that the routes assemble themselves on the same database. */
async function setEnvironment(databaseUrl: string, secret: string): Promise<void> {
  const secretFile = join(folder, 'secret');
  await writeFile(secretFile, secret, { mode: 0o600 });
  const masterKeyFile = join(folder, 'master-key');
  await writeFile(masterKeyFile, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  Object.assign(process.env, {
    DATABASE_URL: databaseUrl,
    FAIRLEAD_PUBLIC_URL: origin,
    FAIRLEAD_AUTH_SECRET_FILE: secretFile,
    FAIRLEAD_INTERNAL_TOKEN_FILE: secretFile,
    FAIRLEAD_MASTER_KEY_FILE: masterKeyFile,
    FAIRLEAD_LOG_STORE_DIR: folder,
    LOG_LEVEL: 'error',
  });
}

/** Keeps the HTTP methods of a route file; its other exports configure Next. */
function methodsOf(module: object): RouteHandlers[string] {
  return Object.fromEntries(Object.entries(module).filter(([name]) => /^[A-Z]+$/.test(name)));
}
