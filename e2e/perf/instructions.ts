// `npm run perf:instructions`: how many instructions the hot path's decisions take for one request (route's example
// `instructions`, counted by callgrind), for two kinds of request and two sizes of route table. Prints figures, judges none:
// they don't depend on load, so a regression shows without noise. `-- --profile dev` counts what `npm test` has built.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../tools/lib/command.ts';
import { likeTests } from '../../tools/start/builds.ts';
import { requirePrograms, VALGRIND } from '../../tools/test/debian.ts';

const KINDS = ['small', 'browser'];
const ROUTES = [1000, 100_000];
const REQUESTS = 2000;
/** Where the build of each profile is, by the name of the profile. */
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

/** Instructions of one request. */
function count(program: string, kind: string, routes: number): number {
  // Only what runs within this function is counted: neither the table's making nor the program's start.
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
