// Resolves the secret versions of a release: the app's own, those of its groups, and their references. Pure and
// without values: references are stored beside the envelopes.
import { snapshotBytesMax, valueBytesMax } from './rules.ts';

export interface SecretNode {
  readonly versionId: string;
  readonly name: string;
  readonly references: readonly string[];
  readonly sizeBytes: number;
}

export interface GroupNodes {
  readonly name: string;
  readonly attached: boolean;
  readonly secrets: readonly SecretNode[];
}

export interface SnapshotEntry {
  readonly versionId: string;
  /** The group's name; empty for the app's own. */
  readonly scope: string;
  readonly name: string;
  /** False for what only others refer to. */
  readonly exported: boolean;
}

export interface Resolved {
  /** In a fixed order. */
  readonly entries: readonly SnapshotEntry[];
  /** Whole sentences; with any of them there is nothing to deploy. */
  readonly problems: readonly string[];
  /** Maximum size of all values that the app gets, after substitution. */
  readonly bytes: number;
}

interface Found {
  readonly scope: string;
  readonly node: SecretNode;
}

export function resolve(own: readonly SecretNode[], groups: readonly GroupNodes[]): Resolved {
  const problems = new Set<string>();
  const scopes = new Map(groups.map((group) => [group.name, new Map(group.secrets.map((node) => [node.name, node]))]));
  const ownByName = new Map(own.map((node) => [node.name, node]));
  const attached = groups.filter((group) => group.attached);

  /** Resolves NAME for the app: its own secret, else that of the one attached group that has it. */
  function visible(name: string): Found | null {
    const mine = ownByName.get(name);
    if (mine !== undefined) return { scope: '', node: mine };
    const offers = attached.flatMap((group) => {
      const node = scopes.get(group.name)?.get(name);
      return node === undefined ? [] : [{ scope: group.name, node }];
    });
    if (offers.length > 1) {
      const names = offers.map(({ scope }) => scope).join(' and ');
      problems.add(`${name} is in the groups ${names}. Set it in the app itself, or detach one of them.`);
    }
    return offers[0] ?? null;
  }

  function find(reference: string, from: string): Found | null {
    const dot = reference.indexOf('.');
    if (dot < 0 && from === '') return visible(reference);
    const scope = dot < 0 ? from : reference.slice(0, dot);
    // The app sees attached groups only; a group may refer to another one of its project.
    if (from === '' && !attached.some(({ name }) => name === scope)) return null;
    const node = scopes.get(scope)?.get(reference.slice(dot + 1));
    return node === undefined ? null : { scope, node };
  }

  const sizes = new Map<string, number>();
  const chosen = new Map<string, Found>();

  /** The most bytes the value can have once it is filled in. */
  function measure(found: Found, trail: readonly Found[]): number {
    const { node, scope } = found;
    const known = sizes.get(node.versionId);
    if (known !== undefined) return known;
    const again = trail.findIndex((each) => each.node.versionId === node.versionId);
    if (again >= 0) {
      const circle = [...trail.slice(again), found].map(label).join(' → ');
      problems.add(`These secrets refer to each other in a circle: ${circle}. Give one of them a value of its own.`);
      return 0;
    }
    chosen.set(node.versionId, found);
    let size = node.sizeBytes;
    for (const reference of node.references) {
      const target = find(reference, scope);
      if (target === null) {
        problems.add(
          `${label(found)} refers to ${reference}, which this app does not have. Add it, attach its group, or correct the reference.`,
        );
      } else {
        size += measure(target, [...trail, found]);
      }
    }
    if (size > valueBytesMax) {
      problems.add(`The value of ${label(found)} is larger than 64 KiB once its references are filled in.`);
    }
    sizes.set(node.versionId, size);
    return size;
  }

  const names = new Set([...ownByName.keys(), ...attached.flatMap(({ secrets }) => secrets.map(({ name }) => name))]);
  const exported = new Set<string>();
  let total = 0;
  for (const name of names) {
    const found = visible(name);
    if (found === null) continue;
    exported.add(found.node.versionId);
    total += measure(found, []);
  }
  if (total > snapshotBytesMax) {
    problems.add('All secrets of the app together are larger than 1 MiB. Keep large data in files or in a store.');
  }
  const entries = [...chosen.values()].map(({ scope, node }) => ({
    versionId: node.versionId,
    scope,
    name: node.name,
    exported: exported.has(node.versionId),
  }));
  entries.sort((a, b) => compare(a.scope, b.scope) || compare(a.name, b.name));
  return { entries, problems: [...problems].sort(compare), bytes: total };
}

/** The secret that a reference means among the entries of a snapshot; its names are unambiguous by then. */
export function findEntry<Entry extends SnapshotEntry>(
  entries: readonly Entry[],
  reference: string,
  from: string,
): Entry | undefined {
  const dot = reference.indexOf('.');
  const name = reference.slice(dot + 1);
  if (dot >= 0 || from !== '') {
    const scope = dot < 0 ? from : reference.slice(0, dot);
    return entries.find((entry) => entry.scope === scope && entry.name === name);
  }
  return (
    entries.find((entry) => entry.scope === '' && entry.name === name) ??
    entries.find((entry) => entry.exported && entry.name === name)
  );
}

function label({ scope, node }: Found): string {
  return scope === '' ? node.name : `${scope}.${node.name}`;
}

/** Compares by code points: the digest of a snapshot must not depend on a locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
