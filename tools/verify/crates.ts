// Checks the layers of the Rust workspace with cargo's own metadata: a crate imports only crates of lower layers, so two
// crates of one layer never meet but in the `agent` crate.
import { join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';

/** The table of ARCHITECTURE.md. */
const LAYERS: Readonly<Record<string, number>> = {
  'fairlead-model': 0,
  'fairlead-base': 0,
  'fairlead-reactor': 0,
  'fairlead-wire': 1,
  'fairlead-route': 1,
  'fairlead-h3': 1,
  'fairlead-tls': 1,
  'fairlead-telemetry': 1,
  'fairlead-secret': 1,
  'fairlead-engine': 1,
  'fairlead-fetch': 1,
  'fairlead-network': 1,
  'fairlead-inspect': 1,
  'fairlead-proxy': 2,
  'fairlead-runtime': 2,
  'fairlead-build': 2,
  'fairlead-site': 2,
  'fairlead-link': 2,
  'fairlead-bench': 2,
  'fairlead-agent': 3,
  'fairlead-protocols': 3,
};

export interface Crate {
  readonly name: string;
  readonly dependencies: readonly { readonly name: string }[];
}

export function checkLayers(crates: readonly Crate[]): string[] {
  return crates.flatMap((crate) => {
    const own = LAYERS[crate.name];
    if (own === undefined) return [`${crate.name} has no layer: add it to tools/verify/crates.ts and ARCHITECTURE.md`];
    return crate.dependencies.flatMap(({ name }) => {
      const other = LAYERS[name];
      if (other === undefined || other < own) return [];
      return [`${crate.name} (layer ${own}) may not depend on ${name} (layer ${other})`];
    });
  });
}

if (import.meta.main) {
  const args = ['metadata', '--no-deps', '--format-version', '1', '--manifest-path', join(ROOT, 'agents/Cargo.toml')];
  const result = await run('cargo', args);
  if (result.code !== 0) {
    console.log(result.output);
    process.exit(1);
  }
  const findings = checkLayers((JSON.parse(result.stdout) as { packages: Crate[] }).packages);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
