// `npm test`, second half: runs every stage in two lanes, prints its minutes, and sums up all checks and tests in the
// last line. `--only STAGE` (repeatable) selects stages.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, run } from '../lib/command.ts';
import { buildAgent, buildWeb, generateClient } from '../start/builds.ts';
import { verify, verifyCrates } from '../verify.ts';
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
import { add, NOTHING, type Outcome } from './outcome.ts';
import { runCargoTest, runPlaywright, runProtocols, runVitest, vitestFolders } from './runners.ts';
import { openScreen, type Say } from './screen.ts';

interface Stage {
  readonly name: string;
  readonly what: string;
  readonly needs?: readonly DebianProgram[];
  readonly run: (say: Say) => Promise<Outcome>;
}

const CONTRACT_PACKAGE = 'packages/contract';
const silent = () => undefined;

const STAGES: readonly Stage[] = [
  { name: 'verify', what: 'format, lint, types, imports, dead code, licences', run: verify },
  { name: 'crates', what: 'layers, format and clippy of the crates, fuzz targets', run: verifyCrates },
  {
    name: 'unit',
    what: 'packages and apps, on a real PostgreSQL',
    needs: [OPENSSH],
    run: (say) =>
      inTurn(
        vitestFolders()
          .filter((folder) => folder !== CONTRACT_PACKAGE)
          .map((folder) => () => runVitest(folder, say)),
      ),
  },
  {
    name: 'contract',
    what: 'the same fixtures in both languages',
    run: (say) =>
      inTurn([
        () => runVitest(CONTRACT_PACKAGE, say),
        () => runCargoTest(['--workspace', '--test', 'fixtures', '--test', 'generated'], say),
      ]),
  },
  {
    name: 'rust',
    what: 'the agent’s crates',
    needs: [BUSYBOX, DOCKER, GIT_LFS, IP, NFTABLES, PASST, REGISTRY],
    run: async (say) => {
      const outcome = await runCargoTest(['--workspace'], say);
      await tellInstructions(say);
      return outcome;
    },
  },
  {
    name: 'protocols',
    what: 'smuggling, floods, WebSocket, TLS, h2spec, fairness, transfers, fuzz targets',
    needs: [NGINX],
    run: runProtocols,
  },
  {
    name: 'system',
    what: 'real gateway, worker, agent, git over HTTP, nginx, Docker',
    needs: [CURL, DOCKER, IP, NFTABLES, NGINX, OPENSSL, PYTHON, REGISTRY],
    run: async (say) => {
      await buildAgent(silent);
      await buildWeb(silent);
      return runVitest('e2e', say);
    },
  },
  {
    name: 'ui',
    what: 'the product in a browser',
    needs: [CHROMIUM, NFTABLES],
    run: async (say) => {
      const agent = await buildAgent(silent);
      await buildWeb(silent);
      return runPlaywright(join(ROOT, 'e2e/ui/playwright.config.ts'), { FAIRLEAD_E2E_AGENT: agent }, say);
    },
  },
];

/**
 * Stages of a lane run one after another, the lanes in parallel: most stages use one core or wait. On two cores both
 * lanes take about the same time.
 */
const LANES: readonly (readonly string[])[] = [
  ['verify', 'unit', 'system', 'ui'],
  ['crates', 'contract', 'rust', 'protocols'],
];

/** Prints a figure for comparison between runs; never fails. */
async function tellInstructions(say: Say): Promise<void> {
  const args = [join(ROOT, 'e2e/perf/instructions.ts'), '--profile', 'dev'];
  const { code, output } = await run(process.execPath, args);
  const told = code === 0 ? output.trimEnd() : 'instructions a request: not counted (valgrind is missing or failed)';
  say(`${told}\n`);
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

async function runLane(stages: readonly Stage[]): Promise<void> {
  for (const stage of stages) {
    const { say, end } = begin();
    say(`\n── ${stage.name}: ${stage.what}\n`);
    const startedAt = performance.now();
    const outcome = await runStage(stage, say);
    end();
    const counts = `${outcome.passed} passed, ${outcome.failed} failed`;
    ended.set(stage.name, { outcome, line: `${nameAndMinutes(stage.name, startedAt)}  ${counts}` });
  }
}

function nameAndMinutes(name: string, startedAt: number): string {
  return `${name.padEnd(10)} ${((performance.now() - startedAt) / 60_000).toFixed(1).padStart(5)} min`;
}

const startedAt = performance.now();
await generateClient(silent);
const chosen = chooseStages();
await Promise.all(LANES.map((names) => runLane(chosen.filter(({ name }) => names.includes(name)))));
const all = chosen.flatMap(({ name }) => ended.get(name) ?? []);
const total = all.reduce((sum, { outcome }) => add(sum, outcome), NOTHING);
const failures = total.failures ?? [];
if (failures.length > 0) console.log(`\n── what failed\n${failures.join('\n')}`);
console.log(`\n${all.map(({ line }) => line).join('\n')}\n${nameAndMinutes('together', startedAt)}`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
