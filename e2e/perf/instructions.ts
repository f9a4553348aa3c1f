// `npm run perf:instructions`: counts the instructions of one request on the hot path with callgrind (route's example
// `instructions`). Prints figures that do not depend on load and asserts none; `-- --profile dev` uses the build of
// `npm test`.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../tools/lib/command.ts';
import { likeTests } from '../../tools/lib/install.mjs';
import { requirePrograms, VALGRIND } from '../../tools/test/debian.ts';

const KINDS = ['small', 'browser'];
const ROUTES = [1000, 100_000];
const REQUESTS = 2000;
/** Build folder of each profile. */
const FOLDERS: Record<string, string> = { dev: 'debug', measure: 'measure' };

const { values: options } = parseArgs({ options: { profile: { type: 'string', default: 'measure' } } });

function build(profile: string): string {
  const folder = FOLDERS[profile];
  if (folder === undefined) throw new Error(`no profile ${profile}; there are ${Object.keys(FOLDERS).join(' and ')}`);
  const one =
    profile === 'dev' ? likeTests('--example', 'instructions') : ['-p', 'fairlead-route', '--example', 'instructions'];
  const what = ['--profile', profile, ...one];
  execFileSync('cargo', ['build', '--quiet', '--manifest-path', join(ROOT, 'agents/Cargo.toml'), ...what], {
    stdio: 'inherit',
  });
  return join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'agents/target'), folder, 'examples/instructions');
}

/** Returns the instructions of one request. */
function count(program: string, kind: string, routes: number): number {
  // Counts only inside this function: neither building the table nor starting the program.
  const only = '--toggle-collect=instructions::one_request';
  const args = ['--tool=callgrind', '--callgrind-out-file=/dev/null', only, '--', program];
  const { status, stderr } = spawnSync('valgrind', [...args, `${routes}`, `${REQUESTS}`, kind], { encoding: 'utf8' });
  const total = /Collected : (\d+)/.exec(stderr)?.[1];
  if (status !== 0 || total === undefined) throw new Error(`valgrind said nothing of use:\n${stderr}`);
  return Number(total) / REQUESTS;
}

const missing = await requirePrograms([VALGRIND]);
if (missing !== undefined) throw new Error(missing);
const program = build(options.profile);
console.log(
  `instructions a request (profile ${options.profile}): ${ROUTES.map((routes) => `${routes} routes`).join(', ')}`,
);
for (const kind of KINDS) {
  const figures = ROUTES.map((routes) => count(program, kind, routes));
  const [few = Number.NaN, many = Number.NaN] = figures;
  const growth = ((many / few - 1) * 100).toFixed(1);
  console.log(`${kind.padEnd(8)} ${figures.map((figure) => figure.toFixed(0)).join(', ')} (${growth} %)`);
}
