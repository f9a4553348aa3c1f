// `node inside.ts FILE`: part of the check that runs in the server's network. Reads the attacks from the file and
// writes the result beside it.
import { readFileSync, writeFileSync } from 'node:fs';
import type { Mode } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import { drillIsolation } from './drill.ts';

export interface InsideOptions {
  readonly modes: readonly { readonly mode: Mode; readonly ids: readonly string[]; readonly args: readonly string[] }[];
  readonly outside: readonly string[];
}

const file = process.argv[2] ?? '';
const { modes, outside } = JSON.parse(readFileSync(file, 'utf8')) as InsideOptions;
const startedAt = performance.now();
const result = await drillIsolation(
  modes.map(({ mode, ids, args }) => ({ mode, args, attacks: ATTACKS.filter(({ id }) => ids.includes(id)) })),
  outside,
  (line) => console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}`),
);
writeFileSync(`${file}.result`, JSON.stringify(result));
