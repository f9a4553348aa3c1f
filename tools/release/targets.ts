// Machines that a release is built for, and the parts of a release.
export interface Target {
  /** Name in file names, in node_modules and in the folder of offered agents. */
  readonly name: string;
  readonly cpu: 'x64' | 'arm64';
  readonly rust: string;
  /** Processor as readelf prints it. */
  readonly machine: RegExp;
}

export const TARGETS: readonly Target[] = [
  { name: 'linux-x64', cpu: 'x64', rust: 'x86_64-unknown-linux-gnu', machine: /X86-64/ },
  { name: 'linux-arm64', cpu: 'arm64', rust: 'aarch64-unknown-linux-gnu', machine: /AArch64/ },
];

export type Part = { readonly kind: 'agent' | 'control-plane'; readonly target: Target } | { readonly kind: 'sbom' };

export class ReleaseFailed extends Error {}

/** All parts in the order in which they are built: a control plane packs the agents and the SBOM. */
const PARTS: readonly Part[] = [
  ...TARGETS.map((target) => ({ kind: 'agent', target }) as const),
  { kind: 'sbom' },
  ...TARGETS.map((target) => ({ kind: 'control-plane', target }) as const),
];

export function nameOf(part: Part): string {
  return part.kind === 'sbom' ? 'sbom' : `${part.kind}-${part.target.cpu}`;
}

/** Selects parts by a list such as `agent-x64,sbom`; undefined selects all. A control plane brings the SBOM with it. */
export function selectParts(only: string | undefined): readonly Part[] {
  if (only === undefined) return PARTS;
  const wanted = only.split(',').map((name) => name.trim());
  const known = PARTS.map(nameOf);
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new ReleaseFailed(`--only ${unknown}: choose from ${known.join(', ')}`);
  if (wanted.some((name) => name.startsWith('control-plane'))) wanted.push('sbom');
  return PARTS.filter((part) => wanted.includes(nameOf(part)));
}

/** Names of the files of a release. */
export const fileNames = {
  agent: (version: string, target: Target) => `fairlead-agent-${version}-${target.name}`,
  controlPlane: (version: string, target: Target) => `fairlead-${version}-${target.name}.tar.gz`,
  sbom: (version: string) => `fairlead-${version}.cdx.json`,
  notes: (version: string) => `fairlead-${version}.json`,
  licences: (version: string) => `fairlead-${version}-licences.txt`,
};
