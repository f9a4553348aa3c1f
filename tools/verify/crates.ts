// Checks the layers of the Rust workspace with cargo's metadata: a crate imports only crates of lower layers. Two
// crates of one layer therefore meet only in the `agent` crate.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';

const MAP = 'ARCHITECTURE.md';
const ROW = /^\| `(fairlead-[\w-]+)` \| (\d) \|/gm;

export interface Crate {
  readonly name: string;
  readonly dependencies: readonly { readonly name: string }[];
}

/** Layer of each crate in the table "Crates" of ARCHITECTURE.md. */
export function readLayers(map: string): ReadonlyMap<string, number> {
  return new Map([...map.matchAll(ROW)].map(([, name = '', layer]) => [name, Number(layer)]));
}

export function checkLayers(crates: readonly Crate[], layers: ReadonlyMap<string, number>): string[] {
  const names = new Set(crates.map(({ name }) => name));
  const unknown = [...layers.keys()].filter((name) => !names.has(name));
  return [
    ...unknown.map((name) => `${MAP} has a layer for ${name}, which is no crate`),
    ...crates.flatMap((crate) => {
      const own = layers.get(crate.name);
      if (own === undefined) return [`${crate.name} has no layer: add it to the table "Crates" of ${MAP}`];
      return crate.dependencies.flatMap(({ name }) => {
        const other = layers.get(name);
        if (other === undefined || other < own) return [];
        return [`${crate.name} (layer ${own}) may not depend on ${name} (layer ${other})`];
      });
    }),
  ];
}

if (import.meta.main) {
  const args = ['metadata', '--no-deps', '--format-version', '1', '--manifest-path', join(ROOT, 'agents/Cargo.toml')];
  const result = await run('cargo', args);
  if (result.code !== 0) {
    console.log(result.output);
    process.exit(1);
  }
  const { packages } = JSON.parse(result.stdout) as { packages: Crate[] };
  const findings = checkLayers(packages, readLayers(readFileSync(join(ROOT, MAP), 'utf8')));
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
