// Limits guesses of an account's secrets. A device that signed in before has its own limit, so strangers only use up
// the strangers' limit; passkeys need none.
// Invariant: addresses without an account are counted too, so that the answer reveals nothing.
import { createHash } from 'node:crypto';
import type { IdentityClient } from '@fairlead/db/identity';

export interface Guesser {
  /** Target of the guess: an email address in lower case, or the id of an account if a code is required. */
  readonly account: string;
  /** Known device of the guesser; null for a stranger. */
  readonly deviceId: string | null;
  /** Address of a stranger; null without a trusted proxy. */
  readonly address: string | null;
}

export interface SignInLimit {
  /** Counts an attempt before its secret is looked at; false when its time has not come. */
  begin(guesser: Guesser): Promise<boolean>;
  /** The secret was right: what this one got wrong before is forgotten. */
  succeed(guesser: Guesser): Promise<void>;
  /** The attempt ended before its secret was looked at. */
  withdraw(guesser: Guesser): Promise<void>;
  /** Somebody proved by other means that the account is theirs: strangers' guesses are forgotten. */
  forgive(account: string, address: string | null): Promise<void>;
  /** Counts an action that is limited to `max` times within `windowMs`; false if the limit is reached. */
  spend(what: string, max: number, windowMs: number): Promise<boolean>;
}

/** Wrong guesses of one device or one address before each further one has to wait. */
export const failuresMax = 10;
/** The same for all strangers of an account together: addresses can be had by the thousand. */
export const strangersFailuresMax = 50;
const firstDelayMs = 60_000;
const delayMsMax = 60 * 60_000;
/** Time without attempts after which a guess is forgotten; core's pruneAccounts then deletes its row. */
const memoryMs = 24 * 60 * 60_000;
/** Concurrent attempts read the clock in any order, so an open limit has been open since long ago. */
const always = new Date(0);

interface Bucket {
  readonly key: string;
  readonly free: number;
}

export function createSignInLimit(client: () => IdentityClient, now: () => Date): SignInLimit {
  const count = async ({ key, free }: Bucket): Promise<boolean> => {
    const at = now();
    const over = new Date(at.getTime() - memoryMs);
    // One statement: concurrent guesses are counted one after another, and early ones not at all.
    const counted = await client().$queryRaw<{ count: number }[]>`
      INSERT INTO sign_in_attempt AS known (key, count, counted_at, open_at) VALUES (${key}, 1, ${at}, ${always})
      ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN known.counted_at <= ${over} THEN 1 ELSE known.count + 1 END,
        counted_at = ${at},
        open_at = CASE WHEN known.counted_at <= ${over} OR known.count + 1 < ${free} THEN ${always}::timestamptz ELSE
          ${at}::timestamptz + make_interval(secs => least(${delayMsMax}::float8, ${firstDelayMs}::float8 * power(2, least(known.count + 1 - ${free}, 20))) / 1000) END
      WHERE known.open_at <= ${at}
      RETURNING count`;
    return counted.length > 0;
  };
  const uncount = async ({ key }: Bucket): Promise<void> => {
    await client().signInAttempt.updateMany({
      where: { key, count: { gt: 0 } },
      data: { count: { decrement: 1 }, openAt: always },
    });
  };

  return {
    begin: async (guesser) => {
      const [own, all] = bucketsOf(guesser);
      if (!(await count(own))) return false;
      if (all === undefined || (await count(all))) return true;
      await uncount(own);
      return false;
    },
    succeed: async (guesser) => {
      const [own, all] = bucketsOf(guesser);
      await client().signInAttempt.deleteMany({ where: { key: own.key } });
      // Other strangers' failures stay counted, or an owner's sign-in would give them a new allowance.
      if (all !== undefined) await uncount(all);
    },
    withdraw: async (guesser) => {
      for (const bucket of bucketsOf(guesser)) if (bucket !== undefined) await uncount(bucket);
    },
    forgive: async (account, address) => {
      const keys = bucketsOf({ account, deviceId: null, address }).flatMap((bucket) => bucket?.key ?? []);
      await client().signInAttempt.deleteMany({ where: { key: { in: keys } } });
    },
    spend: async (what, max, windowMs) => {
      const at = now();
      const over = new Date(at.getTime() - windowMs);
      const rows = await client().$queryRaw<{ count: number }[]>`
        INSERT INTO sign_in_attempt AS known (key, count, counted_at, open_at) VALUES (${keyOf(what)}, 1, ${at}, ${always})
        ON CONFLICT (key) DO UPDATE SET
          count = CASE WHEN known.counted_at <= ${over} THEN 1 ELSE least(known.count + 1, ${max + 1}) END,
          counted_at = CASE WHEN known.counted_at <= ${over} THEN ${at}::timestamptz ELSE known.counted_at END
        RETURNING count`;
      return (rows[0]?.count ?? 1) <= max;
    },
  };
}

function bucketsOf({ account, deviceId, address }: Guesser): readonly [Bucket, Bucket?] {
  if (deviceId !== null) return [{ key: keyOf(`device ${deviceId} ${account}`), free: failuresMax }];
  return [
    { key: keyOf(`address ${address ?? 'unknown'} ${account}`), free: failuresMax },
    { key: keyOf(`strangers ${account}`), free: strangersFailuresMax },
  ];
}

function keyOf(what: string): string {
  return createHash('sha256').update(what).digest('hex');
}
