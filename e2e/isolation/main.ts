// `npm run check:isolation`: attacks by hostile apps, builds and containers on each other, the server, the control
// plane and a fake metadata service, in full and weaker mode. Needs root.
import { parseArgs } from 'node:util';
import { DOCKER, IP, NFTABLES, PYTHON, REGISTRY, requirePrograms } from '../../tools/test/debian.ts';
import type { Mode } from './attack.ts';
import { attacksOf, checkIsolation, problemsOf, problemsOfSentences } from './check.ts';
import type { ModeResult } from './server-drill.ts';

// `-- --mode weaker` runs one mode, `-- ID…` some attacks, `-- --short` the form of `npm test`. `succeeded` counts
// attacks that reached their aim or could not run. A process without isolation repeats each attack as a control, and
// must succeed. In weaker mode exactly the rows marked open may succeed, and the server's page must say so.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { mode: { type: 'string' }, short: { type: 'boolean', default: false } },
});
const missing = await requirePrograms([IP, NFTABLES, PYTHON, ...(values.short ? [] : [DOCKER, REGISTRY])]);
if (missing !== undefined) throw new Error(missing);

const modes = (['full', 'weaker'] as const).filter((mode) => values.mode === undefined || values.mode === mode);
const counts: Record<Mode, string> = { full: 'attacks 0, succeeded 0', weaker: 'attacks 0, succeeded 0, expected 0' };
const sentences: Partial<Record<Mode, readonly string[]>> = {};
let failed = 0;
const chosen = modes.map((mode) => ({
  mode,
  attacks: attacksOf(mode, values.short).filter(({ id }) => positionals.length === 0 || positionals.includes(id)),
}));
const results = await checkIsolation({ modes: chosen, note: (line) => console.log(line) });
for (const { mode, attacks } of chosen) {
  const result = results[mode];
  if (result === undefined) throw new Error(`the ${mode} mode was not checked`);
  console.log(`\n${mode} mode, ${attacks.length} attacks`);
  sentences[mode] = result.sentences;
  show(result);
  const problems = problemsOf(mode, attacks, result);
  for (const problem of problems) console.log(`FAIL ${problem}`);
  failed += problems.length + (attacks.length === 0 ? 1 : 0);
  const succeeded = result.outcomes.filter(({ attack }) => attack.verdict !== 'stopped').length;
  const expected = attacks.filter(({ weaker }) => weaker !== 'closed').length;
  counts[mode] =
    `attacks ${attacks.length}, succeeded ${succeeded}${mode === 'weaker' ? `, expected ${expected}` : ''}`;
}
if (sentences.full !== undefined && sentences.weaker !== undefined) {
  const problems = problemsOfSentences(sentences.full, sentences.weaker);
  for (const problem of problems) console.log(`FAIL ${problem}`);
  failed += problems.length;
}
console.log(`full: ${counts.full}; weaker: ${counts.weaker}`);
process.exitCode = failed === 0 ? 0 : 1;

function show({ outcomes, allowed }: ModeResult): void {
  for (const { id, attack, control } of outcomes) {
    const controlled = control.verdict === 'succeeded' ? '' : `; control ${control.verdict}: ${control.detail}`;
    console.log(`  ${attack.verdict.padEnd(13)} ${id.padEnd(28)} ${attack.detail}${controlled}`);
  }
  for (const { id, attack } of allowed) {
    const mark = attack.verdict === 'succeeded' ? 'works' : 'FAIL';
    console.log(`  ${mark.padEnd(13)} ${id.padEnd(28)} ${attack.detail}`);
  }
}
