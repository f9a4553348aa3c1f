// `npm run check:protocols`: every protocol suite against the real proxy, with its cases passed, failed and known as
// gaps. The last line is `cases N, failed F`; exits with 0 only when F is 0.
import { parseArgs } from 'node:util';
import { NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { runAutobahn } from './autobahn.ts';
import { buildProtocols, listOwnCases, runOwnSuites, runProperties, runProxyTests } from './cargo-suites.ts';
import { runFairness } from './fairness.ts';
import { fuzzTargets, runFuzz } from './fuzz.ts';
import { runH2spec } from './h2spec.ts';
import { line, type SuiteResult, tally } from './result.ts';

// `--short` is the form of `npm test`, `--only SUITE` (repeatable) selects groups, `--list` names all cases.

const FUZZ_SECONDS = { short: 3, long: 180 };
const PROPERTY_CASES = 20_000;
const OUTPUT_LINES_MAX = 60;

interface Group {
  readonly name: string;
  /** True if `npm test` runs it here; it runs the others in its stage `rust`. */
  readonly short: boolean;
  readonly run: (program: string, long: boolean) => Promise<readonly SuiteResult[]>;
}

const GROUPS: readonly Group[] = [
  { name: 'own', short: true, run: runOwnSuites },
  { name: 'h2spec', short: true, run: async (program) => [await runH2spec(program)] },
  { name: 'fairness', short: true, run: async () => [await runFairness()] },
  { name: 'h3spec', short: false, run: async () => [H3SPEC] },
  { name: 'autobahn', short: false, run: async (program) => [await runAutobahn(program)] },
  { name: 'proxy', short: false, run: runProxyTests },
  { name: 'properties', short: false, run: async () => [await runProperties(PROPERTY_CASES)] },
  {
    name: 'fuzz',
    short: true,
    run: async (_, long) => [await runFuzz(long ? FUZZ_SECONDS.long : FUZZ_SECONDS.short)],
  },
];

const H3SPEC: SuiteResult = {
  suite: 'h3spec',
  cases: [],
  notRun:
    'a Haskell program that no registry we use has; proxy-tests/tests/proxy/http3_conformance.rs stands in for it',
};

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
  },
});

function chosen(): readonly Group[] {
  const unknown = options.only?.find((name) => !GROUPS.some((group) => group.name === name));
  if (unknown !== undefined)
    throw new Error(`no group ${unknown}: there are ${GROUPS.map(({ name }) => name).join(', ')}`);
  return GROUPS.filter(({ name, short }) => options.only?.includes(name) ?? (short || !options.short));
}

function tail(output: string): string {
  const lines = output.trimEnd().split('\n');
  return lines.slice(-OUTPUT_LINES_MAX).join('\n');
}

const missing = await requirePrograms([NGINX]);
if (missing !== undefined) throw new Error(missing);
const program = await buildProtocols();
if (options.list) {
  console.log([...(await listOwnCases(program)), ...fuzzTargets().map((target) => `fuzz/${target}`)].join('\n'));
  console.log('those of h2spec, Autobahn, the proxy’s tests and the properties are named as they run');
  process.exit(0);
}
let cases = 0;
let failed = 0;
for (const group of chosen()) {
  const startedAt = performance.now();
  const results = await group.run(program, !options.short);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const result of results) {
    const counts = tally(result);
    cases += counts.passed.length + counts.failed.length;
    failed += counts.failed.length;
    console.log(line(result.suite, counts, seconds / results.length));
    for (const gap of counts.gaps) console.log(`    gap     ${gap.name}: ${gap.reason}`);
    for (const name of counts.failed) console.log(`    FAILED  ${name}`);
    if (counts.failed.length > 0 && result.output !== undefined) console.log(tail(result.output));
  }
}
console.log(`cases ${cases}, failed ${failed}`);
process.exit(failed === 0 && cases > 0 ? 0 : 1);
