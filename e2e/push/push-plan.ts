// Plans pushes to the branches of several repositories, and the disorder in which their deliveries arrive. Pure: the same
// seed plans the same.

export interface PlannedPush {
  /** Delivery id of GitHub. */
  readonly guid: string;
  readonly repositoryId: number;
  readonly before: string;
  readonly after: string;
  readonly pushedAt: number;
  readonly isSkipped: boolean;
}

export interface PushPlan {
  readonly pushes: readonly PlannedPush[];
  /** Deliveries in their order of arrival; a push may come several times. */
  readonly deliveries: readonly PlannedPush[];
}

export interface PushPlanOptions {
  readonly pushes: number;
  readonly repositories: number;
  readonly seed: number;
}

/** Pushes a second to one repository. */
const perSecond = 5;
/** A delivery arrives at most this many places early or late. */
const disorderMax = 12;
const skippedShare = 0.1;
const duplicateShare = 0.15;

export function planPushes({ pushes: count, repositories, seed }: PushPlanOptions): PushPlan {
  const random = randomOf(seed);
  const ends = new Map<number, { hash: string; count: number }>();
  const pushes = Array.from({ length: count }, (_, index): PlannedPush => {
    const repositoryId = 1 + Math.floor(random() * repositories);
    const end = ends.get(repositoryId) ?? { hash: hashOf(repositoryId, 0), count: 0 };
    const next = { hash: hashOf(repositoryId, end.count + 1), count: end.count + 1 };
    ends.set(repositoryId, next);
    return {
      guid: `guid-${seed}-${index}`,
      repositoryId,
      before: end.hash,
      after: next.hash,
      pushedAt: 1_764_000_000 + Math.floor(index / (perSecond * repositories)),
      isSkipped: random() < skippedShare,
    };
  });
  const arrivals = pushes.flatMap((push, index) => {
    const times = random() < duplicateShare ? 2 : 1;
    return Array.from({ length: times }, () => ({ push, at: index + random() * disorderMax }));
  });
  arrivals.sort((a, b) => a.at - b.at);
  return { pushes, deliveries: arrivals.map(({ push }) => push) };
}

/** The last push of each repository that is to be deployed. */
export function lastEligible(pushes: readonly PlannedPush[]): ReadonlyMap<number, PlannedPush> {
  return new Map(pushes.filter(({ isSkipped }) => !isSkipped).map((push) => [push.repositoryId, push]));
}

function hashOf(repositoryId: number, number: number): string {
  return `${repositoryId.toString(16).padStart(8, 'a')}${number.toString(16).padStart(32, '0')}`;
}

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
