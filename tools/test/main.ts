// `npm test`, second half: runs the stages beside one another, prints the minutes of each, and sums up all checks and
// tests in the last line. `--only STAGE` (repeatable) selects stages.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, run } from '../lib/command.ts';
import { buildAgent, buildWeb, generateClient } from '../start/builds.ts';
import { verify } from '../verify.ts';
import {
  BUSYBOX,
  CHROMIUM,
  CURL,
  type DebianProgram,
  DOCKER,
  GIT_LFS,
  IP,
  NFTABLES,
  NGINX,
  OPENSSH,
  OPENSSL,
  PASST,
  PYTHON,
  REGISTRY,
  requirePrograms,
} from './debian.ts';
import { add, NOTHING, type Outcome, type TestFile } from './outcome.ts';
import { runCargoTest, runPlaywright, runProtocols, runVitest, vitestFolders } from './runners.ts';
import { openScreen, type Say } from './screen.ts';

interface Stage {
  readonly name: string;
  readonly what: string;
  readonly needs?: readonly DebianProgram[];
  /** Stages that must end first, because this one uses what they build. */
  readonly after?: readonly string[];
  /** Runs with no other stage beside it. */
  readonly alone?: true;
  readonly run: (say: Say) => Promise<Outcome>;
}

const silent = () => undefined;

/** In the order in which they start: what others wait for first, then the longest. */
const STAGES: readonly Stage[] = [
  {
    name: 'agent',
    what: 'the agent and its tests compile, without a warning of clippy',
    // Two compilers fill two cores; beside other work, rustc takes 1.4 times as much processor time.
    alone: true,
    run: compileAgent,
  },
  { name: 'web', what: 'the web app builds', run: () => built(buildWeb(silent)) },
  {
    name: 'verify',
    what: 'format, lint, types, imports, dead code, licences, layers',
    // Both write the types of the web app's routes.
    after: ['web'],
    run: verify,
  },
  {
    name: 'system',
    what: 'real gateway, worker, agent, git over HTTP, nginx, Docker',
    needs: [CURL, DOCKER, IP, NFTABLES, NGINX, OPENSSL, PYTHON, REGISTRY],
    after: ['agent', 'web'],
    run: async (say) => {
      await buildAgent(silent);
      await buildWeb(silent);
      return runVitest('e2e', say);
    },
  },
  {
    name: 'unit',
    what: 'packages and apps, on a real PostgreSQL',
    needs: [OPENSSH],
    run: (say) => inTurn(vitestFolders().map((folder) => () => runVitest(folder, say))),
  },
  {
    name: 'rust',
    what: 'the agent’s crates',
    needs: [BUSYBOX, DOCKER, GIT_LFS, IP, NFTABLES, PASST, REGISTRY],
    after: ['agent'],
    run: (say) => runCargoTest(['--workspace'], say),
  },
  {
    name: 'ui',
    what: 'the product in a browser: a sample of what npm run check:ui runs',
    needs: [CHROMIUM, NFTABLES],
    after: ['agent', 'web'],
    run: async (say) => {
      const agent = await buildAgent(silent);
      await buildWeb(silent);
      const env = { FAIRLEAD_E2E_AGENT: agent, FAIRLEAD_E2E_SAMPLE: '1' };
      return runPlaywright(join(ROOT, 'e2e/ui/playwright.config.ts'), env, say);
    },
  },
  {
    name: 'protocols',
    what: 'smuggling, floods, WebSocket, TLS, h2spec, fairness, transfers, fuzz targets',
    needs: [NGINX],
    after: ['agent'],
    run: runProtocols,
  },
];

/** One for each of two cores: a third made tests with deadlines of their own fail. */
const STAGES_AT_ONCE = 2;
/** Enough to see what the time of a run is spent on. */
const SLOWEST_FILES = 25;

/**
 * Compiles with the flags of the stages that need the agent, so that none of them waits for another's compiler. Cargo
 * repeats the warnings of crates that are compiled already.
 */
async function compileAgent(say: Say): Promise<Outcome> {
  const args = ['test', '--manifest-path', 'agents/Cargo.toml', '--locked', '--workspace', '--no-run', '--quiet'];
  const { code, output } = await run('cargo', args, { onOutput: say });
  if (code !== 0) return { passed: 0, failed: 1 };
  const isClean = !/^warning/m.test(output);
  return add(await built(buildAgent(silent)), isClean ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
}

async function built(build: Promise<unknown>): Promise<Outcome> {
  await build;
  return { passed: 1, failed: 0 };
}

async function inTurn(runs: readonly (() => Promise<Outcome>)[]): Promise<Outcome> {
  let total = NOTHING;
  for (const run of runs) total = add(total, await run());
  return total;
}

async function runStage(stage: Stage, say: Say): Promise<Outcome> {
  try {
    const missing = await requirePrograms(stage.needs ?? [], say);
    if (missing !== undefined) {
      say(`${missing}\n`);
      return { passed: 0, failed: 1 };
    }
    return await stage.run(say);
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n`);
    return { passed: 0, failed: 1 };
  }
}

function chooseStages(): readonly Stage[] {
  const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
  const wanted = values.only ?? STAGES.map((stage) => stage.name);
  const unknown = wanted.find((name) => !STAGES.some((stage) => stage.name === name));
  if (unknown !== undefined)
    throw new Error(`no stage ${unknown}; there are ${STAGES.map((stage) => stage.name).join(', ')}`);
  return STAGES.filter((stage) => wanted.includes(stage.name));
}

interface Ended {
  readonly outcome: Outcome;
  readonly line: string;
}

const begin = openScreen((text) => process.stdout.write(text));
const ended = new Map<string, Ended>();

/** Runs the stages, each as soon as there is room and those before it have ended. */
async function runStages(stages: readonly Stage[]): Promise<void> {
  const waiting = [...stages];
  const running = new Map<string, Promise<void>>();
  const isOver = (name: string) => ended.has(name) || !stages.some((stage) => stage.name === name);
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex(
      ({ alone, after = [] }) => after.every(isOver) && (alone === undefined || running.size === 0),
    );
    const hasRoom = running.size < STAGES_AT_ONCE && !stages.some(({ name, alone }) => alone && running.has(name));
    const [stage] = hasRoom && next >= 0 ? waiting.splice(next, 1) : [];
    if (stage === undefined) await Promise.race(running.values());
    else
      running.set(
        stage.name,
        runAndReport(stage).finally(() => running.delete(stage.name)),
      );
  }
}

async function runAndReport(stage: Stage): Promise<void> {
  const { say, end } = begin();
  say(`\n── ${stage.name}: ${stage.what}\n`);
  const startedAt = performance.now();
  const outcome = await runStage(stage, say);
  end();
  const counts = `${outcome.passed} passed, ${outcome.failed} failed`;
  ended.set(stage.name, { outcome, line: `${nameAndMinutes(stage.name, startedAt)}  ${counts}` });
}

function fileAndSeconds({ name, durationMs }: TestFile): string {
  return `${(durationMs / 1000).toFixed(1).padStart(7)} s  ${name}`;
}

function nameAndMinutes(name: string, startedAt: number): string {
  return `${name.padEnd(10)} ${((performance.now() - startedAt) / 60_000).toFixed(1).padStart(5)} min`;
}

// Compile cache of vitest and the system tests, so that their products do not compile gateway and worker again.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/node');
const startedAt = performance.now();
await generateClient(silent);
const chosen = chooseStages();
await runStages(chosen);
const all = chosen.flatMap(({ name }) => ended.get(name) ?? []);
const total = all.reduce((sum, { outcome }) => add(sum, outcome), NOTHING);
const failures = total.failures ?? [];
const slowest = [...(total.files ?? [])].sort((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST_FILES);
if (slowest.length > 0) console.log(`\n── slowest files of tests\n${slowest.map(fileAndSeconds).join('\n')}`);
if (failures.length > 0) console.log(`\n── what failed\n${failures.join('\n')}`);
console.log(`\n${all.map(({ line }) => line).join('\n')}\n${nameAndMinutes('together', startedAt)}`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
