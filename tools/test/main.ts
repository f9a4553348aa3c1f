// `npm test`, second half: every stage in turn, each with its minutes, and as the last line how many checks and tests
// passed and failed over all of them. `--only STAGE` (repeatable) runs some.
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
  IP,
  NGINX,
  OPENSSH,
  OPENSSL,
  REGISTRY,
  requirePrograms,
} from './debian.ts';
import { add, NOTHING, type Outcome } from './outcome.ts';
import { runCargoTest, runPlaywright, runProtocols, runVitest, vitestFolders } from './runners.ts';

interface Stage {
  readonly name: string;
  readonly what: string;
  readonly needs?: readonly DebianProgram[];
  readonly run: () => Promise<Outcome>;
}

const CONTRACT_PACKAGE = 'packages/contract';
const silent = () => undefined;

const STAGES: readonly Stage[] = [
  { name: 'verify', what: 'format, lint, types, imports, dead code, licences, clippy', run: verify },
  {
    name: 'unit',
    what: 'packages and apps, on a real PostgreSQL',
    needs: [OPENSSH],
    run: () =>
      inTurn(
        vitestFolders()
          .filter((folder) => folder !== CONTRACT_PACKAGE)
          .map((folder) => () => runVitest(folder)),
      ),
  },
  {
    name: 'contract',
    what: 'the same fixtures in both languages',
    run: () =>
      inTurn([
        () => runVitest(CONTRACT_PACKAGE),
        () => runCargoTest(['--workspace', '--test', 'fixtures', '--test', 'generated']),
      ]),
  },
  {
    name: 'rust',
    what: 'the agent’s crates',
    needs: [BUSYBOX, DOCKER, IP, REGISTRY],
    run: async () => {
      const outcome = await runCargoTest(['--workspace']);
      await printInstructions();
      return outcome;
    },
  },
  {
    name: 'protocols',
    what: 'smuggling, floods, WebSocket, TLS, h2spec, fuzz targets',
    needs: [NGINX],
    run: runProtocols,
  },
  {
    name: 'system',
    what: 'real gateway, worker, agent, git over HTTP, nginx, Docker',
    needs: [CURL, DOCKER, IP, NGINX, OPENSSL, REGISTRY],
    run: async () => {
      await buildAgent('dev', silent);
      await buildWeb(silent);
      return runVitest('e2e');
    },
  },
  {
    name: 'ui',
    what: 'the product in a browser',
    needs: [CHROMIUM],
    run: async () => {
      const agent = await buildAgent('dev', silent);
      await buildWeb(silent);
      return runPlaywright(join(ROOT, 'e2e/ui/playwright.config.ts'), { FAIRLEAD_E2E_AGENT: agent });
    },
  },
];

/** A figure to look at, with the others of a run; never a reason to fail. */
async function printInstructions(): Promise<void> {
  const args = [join(ROOT, 'e2e/perf/instructions.ts'), '--profile', 'dev'];
  const { code, output } = await run(process.execPath, args);
  console.log(code === 0 ? output.trimEnd() : 'instructions a request: not counted (valgrind is missing or failed)');
}

async function inTurn(runs: readonly (() => Promise<Outcome>)[]): Promise<Outcome> {
  let total = NOTHING;
  for (const run of runs) total = add(total, await run());
  return total;
}

async function runStage(stage: Stage): Promise<Outcome> {
  try {
    const missing = await requirePrograms(stage.needs ?? []);
    if (missing !== undefined) {
      console.log(missing);
      return { passed: 0, failed: 1 };
    }
    return await stage.run();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
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

const lines: string[] = [];
let total: Outcome = NOTHING;
await generateClient(silent);
for (const stage of chooseStages()) {
  console.log(`\n── ${stage.name}: ${stage.what}`);
  const startedAt = performance.now();
  const outcome = await runStage(stage);
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  lines.push(`${stage.name.padEnd(10)} ${minutes.padStart(5)} min  ${outcome.passed} passed, ${outcome.failed} failed`);
  total = add(total, outcome);
}
const failures = total.failures ?? [];
if (failures.length > 0) console.log(`\n── what failed\n${failures.join('\n')}`);
console.log(`\n${lines.join('\n')}\n\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
