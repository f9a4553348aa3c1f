// Build logs for seeded deployments: the lines that a builder would have written, stored as the control plane stores them.
import { newId } from '@fairlead/contract/ids';
import type { LogLine } from '@fairlead/contract/live';
import { createFolderLogStore, encodeLogLines } from '@fairlead/core/log';
import type { CopyRow } from '@fairlead/db/copy';
import type { SeedApp } from './fleet.ts';
import type { PastDeployment } from './history.ts';
import type { Random } from './random.ts';

const say: Readonly<Record<string, (app: SeedApp, random: Random) => readonly string[]>> = {
  queue: (app) => [`Deploying ${app.name} from ${app.branch}`],
  clone: (app) => [
    `Cloning https://git.example.test/demo/${app.slug}.git`,
    `Checked out ${app.branch}`,
    'Detected Node.js: package.json with a lock file and a build script',
  ],
  build: (_, random) => [
    'npm ci',
    `added ${random.int(80, 640)} packages in ${random.int(2, 14)}s`,
    'npm run build',
    '> build',
    '> node build.js',
    ...['server', 'routes', 'templates', 'assets'].map((part) => `built ${part} in ${random.int(20, 900)} ms`),
    `wrote ${random.int(12, 140)} files to dist/`,
  ],
  pack: (_, random) => [`Packed the artifact: ${random.between(0.6, 40).toFixed(1)} MB`],
  start: () => ['Starting 1 instance: node server.js'],
  health: (_, random) => [`GET /healthz answered 200 in ${random.int(2, 40)} ms`],
  switch: (app) => [`Routing ${app.hosts.join(', ')} to the new release`],
  drain: () => ['The previous instance finished its requests and was stopped'],
};

/** Writes the log of one deployment and returns its index row. */
export async function storeLog(
  random: Random,
  dir: string,
  app: SeedApp,
  deployment: PastDeployment,
): Promise<CopyRow | null> {
  const lines = linesOf(random, app, deployment);
  if (lines.length === 0) return null;
  const bytes = await encodeLogLines(lines);
  const objectKey = `${app.organizationId}/${deployment.deploymentId}/0000000000-seed.json.zst`;
  await createFolderLogStore(dir).put(objectKey, bytes);
  return {
    id: newId('lgc'),
    organization_id: app.organizationId,
    deployment_id: deployment.deploymentId,
    first_line: 0,
    line_count: lines.length,
    object_key: objectKey,
    size_bytes: bytes.length,
  };
}

function linesOf(random: Random, app: SeedApp, { steps, row }: PastDeployment): readonly LogLine[] {
  return steps.flatMap((step) => {
    const { name, state, started_at: startedAt, finished_at: finishedAt } = step;
    if (!(startedAt instanceof Date && finishedAt instanceof Date)) return [];
    const isFailed = state === 'failed';
    const texts = [...(say[String(name)]?.(app, random) ?? []), ...(isFailed ? [String(row.failure_message)] : [])];
    const gapMs = (finishedAt.getTime() - startedAt.getTime()) / texts.length;
    return texts.map((text, index): LogLine => {
      const isLast = index === texts.length - 1;
      const ofBuild = name === 'build' && !text.startsWith('npm ');
      return {
        unixMs: Math.round(startedAt.getTime() + index * gapMs),
        step: String(name),
        stream: isFailed && isLast ? 'stderr' : ofBuild ? 'stdout' : 'system',
        text,
      };
    });
  });
}
