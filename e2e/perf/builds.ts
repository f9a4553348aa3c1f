// `npm run perf:builds`: measures the speed-up of a build with a filled cache. Deploys each example, changes one source
// file, deploys again, and compares the builds. `-- --only hello-next,…` or `--all` selects examples; `--out FILE`
// writes the rows as JSON.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { AppId } from '@fairlead/contract/ids';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { ROOT } from '../../tools/lib/command.ts';
import { CONTROL_HOST } from '../../tools/start/control-plane.ts';
import { EXAMPLES } from '../real-apps/list/examples.ts';
import type { ExampleApp } from '../real-apps/real-app.ts';
import { System } from '../system/harness/system.ts';
import { type BuildRow, formatRow, isWithinBound, STEPS, summary } from './build-rows.ts';
import { LOCK, lockExample } from './example-files.ts';

/** One example of each family of frameworks and package managers. */
const FAMILIES = [
  'hello-next',
  'hello-nuxt',
  'hello-sveltekit',
  'hello-react-router',
  'hello-astro',
  'hello-vite-react',
  'hello-angular',
  'hello-create-react-app',
  'hello-docusaurus',
  'hello-nest',
  'hello-express',
  'hello-pnpm',
  'hello-yarn',
  'hello-turborepo',
  'hello-elysia',
  'hello-django',
  'hello-fastapi',
  'hello-uv-workspace',
  'hello-sphinx',
  'hello-go',
  'hello-rust',
];
/** Examples with builds that fetch the runtime and the package manager of all others with such a file. */
const WARM_UPS: readonly (readonly [file: string, example: string])[] = [
  ['pnpm-lock.yaml', 'hello-pnpm'],
  ['yarn.lock', 'hello-yarn'],
  ['deno.json', 'hello-deno'],
  ['go.mod', 'hello-go'],
  ['Cargo.toml', 'hello-rust'],
  ['package.json', 'hello-express'],
];
const LOCKS = [LOCK, 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock'];
const GREETING = 'Hello from';
const TEXT = /\.(astro|go|html|js|jsx|md|py|rs|rst|svelte|ts|tsx|vue)$/;

const { values } = parseArgs({
  options: { only: { type: 'string' }, all: { type: 'boolean', default: false }, out: { type: 'string' } },
});
const only = values.only?.split(',') ?? (values.all ? undefined : FAMILIES);
const chosen = EXAMPLES.filter(({ example }) => only === undefined || only.includes(example));

console.log(`Counted: the steps ${STEPS.join(', ')}. Another app fetched the runtimes before.`);
console.log(`Examples of npm get a package-lock.json first, as their plan advises. Load ${load()}.`);
const rows: BuildRow[] = [];
let broken = 0;
const system = await System.start();
try {
  for (const warmUp of new Set(chosen.map(warmUpOf))) await deployOnce(warmUp);
  for (const app of chosen) {
    try {
      const row = await measure(app);
      rows.push(row);
      console.log(`${formatRow(row)}  load ${load()}`);
    } catch (error) {
      broken++;
      console.log(`FAIL ${app.example}: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(rows, undefined, 2)}\n`);
  }
} finally {
  await system.stop();
}
console.log(summary(rows));
process.exitCode = broken === 0 && rows.length > 0 && rows.every(isWithinBound) ? 0 : 1;

async function deployOnce(example: string): Promise<void> {
  const slug = `warm-up-${example}`;
  const repository = await system.repositories.createExample(slug, example);
  const deployment = await system.createApp(slug, repository);
  requireLive(deployment);
  await removeApp(deployment.appId);
}

/** Builds an example twice. */
async function measure(app: ExampleApp): Promise<BuildRow> {
  const { example, rootFolder = '', healthPath = '' } = app;
  const repository = await system.repositories.createExample(example, example);
  const lock = await missingLock(app);
  if (lock !== undefined) await repository.commit('Lock the dependencies', { [LOCK]: lock });
  const { id: appId } = await system.product.verbs.createApp(
    {
      name: example,
      source: { kind: 'git', repositoryUrl: repository.url, branch: 'main', rootFolder },
      healthPath,
      serverIds: [await system.serverId()],
      domain: { host: `${example}.localhost` },
      firstDeploy: 'none',
    },
    { controlHost: CONTROL_HOST, publicHost: '' },
  );
  try {
    const first = await system.deploy(appId);
    requireLive(first);
    const [path, text] = greetingOf(example);
    const commit = await repository.commit('Greet twice', { [path]: text.replaceAll(GREETING, `${GREETING} us and`) });
    const second = await system.deploy(appId);
    requireLive(second);
    if (second.commitHash !== commit) throw new Error('another commit was deployed');
    return { example, first: durations(first), second: durations(second) };
  } finally {
    await removeApp(appId);
  }
}

function durations({ steps }: DeploymentDetail): readonly number[] {
  return STEPS.map((name) => steps.find((step) => step.name === name)?.durationMs ?? 0);
}

function warmUpOf({ example, runtime }: ExampleApp): string {
  if (runtime === 'bun') return 'hello-bun';
  const folder = join(ROOT, 'examples', example);
  return WARM_UPS.find(([file]) => existsSync(join(folder, file)))?.[1] ?? 'hello-python';
}

/** Returns the source file with the greeting, and its text. */
function greetingOf(example: string): readonly [path: string, text: string] {
  const folder = join(ROOT, 'examples', example);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => TEXT.test(name));
  for (const name of names.filter((each) => !each.endsWith('README.md')).toSorted()) {
    const text = readFileSync(join(folder, name), 'utf8');
    if (text.includes(GREETING)) return [name, text];
  }
  throw new Error(`no file of examples/${example} says "${GREETING}"`);
}

/** Returns the lock file that npm writes for an example; undefined if it has one, or does not use npm. */
async function missingLock(app: ExampleApp): Promise<string | undefined> {
  const { example } = app;
  const source = join(ROOT, 'examples', example);
  const has = (name: string) => existsSync(join(source, name));
  if (!has('package.json') || LOCKS.some(has) || warmUpOf(app) !== 'hello-express') return undefined;
  return lockExample(example);
}

async function removeApp(appId: AppId): Promise<void> {
  await system.product.verbs.purgeApp({ appId });
}

function requireLive({ state, failureMessage }: DeploymentDetail): void {
  if (state !== 'live') throw new Error(`a deployment ended ${state}: ${failureMessage}`);
}

function load(): string {
  return loadavg()[0]?.toFixed(2) ?? 'unknown';
}
