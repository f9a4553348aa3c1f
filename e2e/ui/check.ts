// `npm run check:ui`: all browser tests in Chromium, the main flows in Firefox, and every page with each data set, width
// and theme. Last line: `pages P, axe violations V, console errors E, CLS max C, LCP p75 L ms, JS max J KB`.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from '@playwright/test';
import { ROOT } from '../../tools/lib/command.ts';
import { ADA, claimSetup, openSession, signIn } from '../../tools/lib/dashboard-client.ts';
import { startProduct } from '../../tools/lib/running-product.ts';
import { buildAgent, buildWeb, generateClient } from '../../tools/start/builds.ts';
import { CHROMIUM, FIREFOX, NFTABLES, requirePrograms } from '../../tools/test/debian.ts';
import { add, NOTHING, type Outcome } from '../../tools/test/outcome.ts';
import { runPlaywright } from '../../tools/test/runners.ts';
import { FIRST_LOAD_KB_MAX, readFirstLoads } from '../perf/first-load.ts';
import { DATA_SETS, type DataSet, type Home, listPages, loadDataSet } from './data-sets.ts';
import { runFirefox } from './firefox.ts';
import { LAUNCH_OPTIONS } from './launch-options.ts';
import { LOOKS, sweepPages } from './page-sweep.ts';
import { formatReport, isClean, listProblems, sumUp, type Visit } from './sweep-report.ts';

const PARTS = ['specs', 'firefox', 'pages'] as const;

const say = (text: string) => process.stdout.write(text);
const silent = () => undefined;

/** Returns the wanted names in the order of `known`; all without a wish. */
function choose<Name extends string>(what: string, known: readonly Name[], wanted: readonly string[] | undefined) {
  const unknown = wanted?.find((name) => !known.some((each) => each === name));
  if (unknown !== undefined) throw new Error(`--${what} ${unknown}: choose from ${known.join(', ')}`);
  return known.filter((name) => wanted === undefined || wanted.includes(name));
}

async function sweep(home: Home, dataSets: readonly DataSet[]): Promise<readonly Visit[]> {
  const visits: Visit[] = [];
  const browser = await chromium.launch(LAUNCH_OPTIONS);
  try {
    const session = await openSession(home.product.url, ADA);
    for (const data of dataSets) {
      const organization = await loadDataSet(data, home);
      for (const look of LOOKS) {
        const name = `${data} ${look.viewport.width} ${look.theme}`;
        const before = visits.length;
        await sweepPages({
          browser,
          baseUrl: home.product.url,
          session,
          look,
          name,
          listPages: (page) => listPages(data, organization, page),
          onVisit(visit) {
            visits.push(visit);
            for (const problem of listProblems(visit)) say(`${problem}\n`);
          },
        });
        say(`${name}: ${visits.length - before} pages visited\n`);
      }
    }
  } finally {
    await browser.close();
  }
  return visits;
}

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, data: { type: 'string', multiple: true } },
});
const parts = choose('only', PARTS, values.only);
const dataSets = choose('data', DATA_SETS, values.data);
const missing = await requirePrograms([CHROMIUM, NFTABLES, ...(parts.includes('firefox') ? [FIREFOX] : [])]);
if (missing !== undefined) throw new Error(missing);
await generateClient(silent);
await buildWeb(silent);
const agent = process.env.FAIRLEAD_E2E_AGENT ?? (await buildAgent(silent));

let tests: Outcome = NOTHING;
let visits: readonly Visit[] = [];
if (parts.includes('specs')) {
  tests = await runPlaywright(join(ROOT, 'e2e/ui/playwright.config.ts'), { FAIRLEAD_E2E_AGENT: agent }, say);
}
if (parts.includes('firefox') || parts.includes('pages')) {
  const product = await startProduct({ agent });
  try {
    const first = await claimSetup(product.url, product.setupToken ?? '', ADA);
    if (parts.includes('firefox')) tests = add(tests, await runFirefox(product, say));
    if (parts.includes('pages')) {
      visits = await sweep({ product, first, dashboard: await signIn(product.url, ADA) }, dataSets);
    }
  } finally {
    await product.stop();
  }
}
for (const line of tests.failures ?? []) console.log(line);
console.log(`tests: ${tests.passed} passed, ${tests.failed} failed`);
let isGreen = tests.failed === 0;
if (parts.includes('pages')) {
  const firstLoads = await readFirstLoads();
  for (const { route, sizeKb } of firstLoads)
    if (sizeKb > FIRST_LOAD_KB_MAX) console.log(`${route}: ${sizeKb} KB of JavaScript`);
  const report = sumUp(visits, firstLoads);
  console.log(formatReport(report));
  isGreen &&= isClean(report);
}
process.exitCode = isGreen ? 0 : 1;
