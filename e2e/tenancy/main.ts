// `npm run check:tenancy`: calls every procedure and every HTTP route as everybody, with ids of another organization in each
// place that takes one, on a database of its own, and prints what leaked. Exits 1 unless nothing did. The same code runs in
// the API's tests, which also show that it finds a leak.
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkMatrix, type Handler, origin, startApi } from '@fairlead/api/testing/matrix';
import { cloneDatabase, startTestCluster } from '@fairlead/db/testing/cluster';

const appFolder = fileURLToPath(new URL('../../apps/web/src/app', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'fairlead-tenancy-'));
const cluster = await startTestCluster();
let leaks: readonly string[];
try {
  const api = await startApi(await cloneDatabase(cluster.templateUrl));
  try {
    await setEnvironment(api.db.url, api.authOptions.secret);
    const report = await checkMatrix(api, { routes: await loadRoutes() });
    leaks = report.leaks;
    for (const leak of leaks) console.log(leak);
    console.log(`procedures ${report.procedures}, calls ${report.calls}, leaks ${leaks.length}`);
  } finally {
    await closeRoutes();
    await api.close();
  }
} finally {
  await cluster.stop();
  await rm(folder, { recursive: true });
}
process.exitCode = leaks.length === 0 ? 0 : 1;

/** What the web process reads, for the routes' own composition on the same database. */
async function setEnvironment(databaseUrl: string, secret: string): Promise<void> {
  const secretFile = join(folder, 'secret');
  await writeFile(secretFile, secret, { mode: 0o600 });
  Object.assign(process.env, {
    DATABASE_URL: databaseUrl,
    FAIRLEAD_PUBLIC_URL: origin,
    FAIRLEAD_AUTH_SECRET_FILE: secretFile,
    FAIRLEAD_INTERNAL_TOKEN_FILE: secretFile,
    FAIRLEAD_LOG_STORE_DIR: folder,
    LOG_LEVEL: 'error',
  });
}

/** The web app's own route files, as Next would call them. They are no part of a package, so they are found by their place. */
async function loadRoutes(): Promise<Record<string, Record<string, Handler>>> {
  const routes: Record<string, Record<string, Handler>> = {};
  for (const file of globSync('**/route.ts', { cwd: appFolder })) {
    const module = (await import(pathToFileURL(join(appFolder, file)).href)) as Record<string, unknown>;
    routes[file] = Object.fromEntries(
      Object.entries(module).filter((entry): entry is [string, Handler] => /^[A-Z]+$/.test(entry[0])),
    );
  }
  return routes;
}

async function closeRoutes(): Promise<void> {
  const { fairleadParts } = globalThis as { fairleadParts?: Promise<{ database: { close(): Promise<void> } }> };
  await (await fairleadParts)?.database.close();
}
