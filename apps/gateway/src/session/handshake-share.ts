// Decides which pending handshake makes room for another. Pure: reads no clock and closes nothing.
// Invariant: a network displaces the handshake of another only if that one has more.

/** Limits of connections that have not proved an identity yet. */
export interface HandshakeLimits {
  readonly pendingMax: number;
  /** Limit of one network. Clients of unknown address have no limit of their own. */
  readonly networkMax: number;
}

export interface PendingHandshake {
  /** IPv4 address or IPv6 /64 of the client; null if unknown. */
  readonly network: string | null;
  /** True while the client has to send the next message. */
  readonly isSilent: boolean;
}

/**
 * Returns the handshakes to close for one more of that network; null if it has to be refused. Agents prove their identity
 * within two round trips, so the handshake that was silent longest is the least likely to be one's.
 */
export function makeRoom<H extends PendingHandshake>(
  /** Oldest first. */
  pending: readonly H[],
  network: string | null,
  { pendingMax, networkMax }: HandshakeLimits,
): readonly H[] | null {
  const byNetwork = Map.groupBy(pending, (handshake) => handshake.network);
  const own = byNetwork.get(network) ?? [];
  const isAtShare = network !== null && own.length >= networkMax;
  if (!isAtShare && pending.length < pendingMax) return [];
  const larger = [...byNetwork.values()].filter((each) => each.length > own.length).sort((a, b) => b.length - a.length);
  // A network displaces its own handshakes last, unless its share is used up.
  const groups = isAtShare ? [own] : [...larger, own];
  const longest = groups.flatMap((each) => each.find(({ isSilent }) => isSilent) ?? []).at(0);
  return longest === undefined ? null : [longest];
}
