// Order of pushes to one ref. Deliveries arrive late, twice and out of order, so their order alone decides last.

export interface OrderedPush {
  readonly before: string | null;
  readonly after: string | null;
  /** Time at the host, to the second for GitHub; null: unknown. */
  readonly pushedAt: Date | null;
  /** Order of arrival. */
  readonly sequence: bigint;
}

/** Returns the newest of `candidates`, by what `known` pushes of the same ref tell about their order; null for none. */
export function newestPush<Push extends OrderedPush>(
  candidates: readonly Push[],
  known: readonly OrderedPush[],
): Push | null {
  const chain = toChain(known);
  let newest: Push | null = null;
  for (const push of candidates) {
    if (newest === null || isNewer(push, newest, chain)) newest = push;
  }
  return newest;
}

/** Hashes at which pushes ended, by the hash at which they began. */
interface Chain {
  readonly next: ReadonlyMap<string, readonly string[]>;
  readonly ends: ReadonlySet<string>;
}

function toChain(known: readonly OrderedPush[]): Chain {
  const next = new Map<string, string[]>();
  const ends = new Set<string>();
  for (const { before, after } of known) {
    if (after === null) continue;
    ends.add(after);
    if (before !== null) next.set(before, [...(next.get(before) ?? []), after]);
  }
  return { next, ends };
}

/**
 * True if `a` was pushed after `b`. The host's time decides. Within one second the chain of hashes does: each push
 * begins at the hash where the one before it ended. A push that continues a known one is older than one after a gap.
 */
function isNewer(a: OrderedPush, b: OrderedPush, chain: Chain): boolean {
  if (a.pushedAt !== null && b.pushedAt !== null && a.pushedAt.getTime() !== b.pushedAt.getTime()) {
    return a.pushedAt > b.pushedAt;
  }
  const [fromA, fromB] = [leadsTo(a, b, chain), leadsTo(b, a, chain)];
  if (fromA !== fromB) return fromB;
  const [anchoredA, anchoredB] = [isAnchored(a, chain), isAnchored(b, chain)];
  // Both lead to each other after forced pushes there and back: then only the order of arrival is left.
  if (!fromA && anchoredA !== anchoredB) return anchoredB;
  return a.sequence > b.sequence;
}

/** True if pushes lead from the end of `from` to the end of `to`. */
function leadsTo(from: OrderedPush, to: OrderedPush, { next }: Chain): boolean {
  if (from.after === null || to.after === null) return false;
  const reached = new Set<string>();
  const open = [from.after];
  for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
    for (const after of next.get(hash) ?? []) {
      if (after === to.after) return true;
      if (reached.has(after)) continue;
      reached.add(after);
      open.push(after);
    }
  }
  return false;
}

/** True if the push begins where a known one ended, or made the ref: then its hash is zeros. */
function isAnchored({ before }: OrderedPush, { ends }: Chain): boolean {
  return before !== null && (/^0+$/.test(before) || ends.has(before));
}
