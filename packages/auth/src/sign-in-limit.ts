// Owns how often a password may be guessed for one account, from wherever the guesses come: addresses can be forged and
// are many, the account is one. Counts for addresses that nobody has too, so that the answer tells nothing.
import { createHash } from 'node:crypto';
import type { IdentityClient } from '@fairlead/db/identity';

export interface SignInLimit {
  /** Counts an attempt before its password is looked at; false when there were too many. */
  begin(email: string): Promise<boolean>;
  /** The password was right: what was wrong before is forgotten. */
  succeed(email: string): Promise<void>;
  /** The attempt ended before its password was looked at. */
  takeBack(email: string): Promise<void>;
}

export const failuresMax = 10;
const windowMs = 15 * 60_000;

export function createSignInLimit(client: () => IdentityClient, now: () => Date): SignInLimit {
  return {
    begin: async (email) => {
      const startedAt = now();
      const over = new Date(startedAt.getTime() - windowMs);
      // One statement: guesses that come at once are counted one after another.
      const [attempt] = await client().$queryRaw<{ count: number }[]>`
        INSERT INTO sign_in_attempt AS known (key, count, window_started_at) VALUES (${keyOf(email)}, 1, ${startedAt})
        ON CONFLICT (key) DO UPDATE SET
          count = CASE WHEN known.window_started_at <= ${over} THEN 1 ELSE least(known.count + 1, ${failuresMax + 1}) END,
          window_started_at = CASE WHEN known.window_started_at <= ${over} THEN ${startedAt} ELSE known.window_started_at END
        RETURNING count`;
      const count = attempt?.count ?? 1;
      if (count === 1) await client().signInAttempt.deleteMany({ where: { windowStartedAt: { lte: over } } });
      return count <= failuresMax;
    },
    succeed: async (email) => {
      await client().signInAttempt.deleteMany({ where: { key: keyOf(email) } });
    },
    takeBack: async (email) => {
      await client().signInAttempt.updateMany({
        where: { key: keyOf(email), count: { gt: 0 } },
        data: { count: { decrement: 1 } },
      });
    },
  };
}

function keyOf(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('hex');
}
