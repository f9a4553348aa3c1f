// Recovers one account: a single-use link for a new password, if wanted without the second factor, with an audit entry
// in each of the person's organizations.
// Invariant: it never touches a table itself.
import { randomBytes } from 'node:crypto';
import { createAuth } from '@fairlead/auth';
import { recordAudit } from '@fairlead/core/audit';
import { forOrganization, systemClock } from '@fairlead/core/kernel';
import { listMemberships } from '@fairlead/core/organization';
import { createDatabase } from '@fairlead/db';

export class RecoverFailed extends Error {}

export interface RecoverInput {
  readonly databaseUrl: string;
  readonly email: string;
  readonly removeSecondFactors: boolean;
}

export interface Recovered {
  /** Dashboard path of the page that sets the password. */
  readonly path: string;
  /** Number of organizations with an entry in their audit log. */
  readonly organizations: number;
}

const POOL_MAX = 2;
const REASON = "account recovery from the server's command line";
const quietLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export async function recoverAccount(input: RecoverInput): Promise<Recovered> {
  const database = createDatabase({
    url: input.databaseUrl,
    poolMax: POOL_MAX,
    applicationName: 'fairlead-recover',
    onConnectionError: () => {},
  });
  try {
    await database.assertSafe();
    // No cookie is ever signed with this secret, and nothing encrypted.
    const auth = createAuth({
      identity: database,
      secret: randomBytes(32).toString('hex'),
      baseUrl: 'http://localhost',
      trustedOrigins: [],
      trustedProxies: [],
      github: null,
      mail: null,
      onFailure: (error) => {
        throw error;
      },
    });
    const email = input.email.trim().toLowerCase();
    return await database.system(REASON, async (tx) => {
      const ctx = { tx, clock: systemClock, log: quietLog };
      const user = await auth.account.find({ email });
      if (user === null) throw new RecoverFailed(`nobody has an account with the address ${email}`);
      const memberships = await listMemberships(ctx, user);
      for (const { id } of memberships) {
        await recordAudit(
          { ...forOrganization(ctx, id), actor: { kind: 'system', reason: REASON } },
          {
            action: 'account.recover',
            target: { kind: 'user', id: user.userId, label: email },
            after: { twoFactorRemoved: input.removeSecondFactors },
          },
        );
      }
      // Last: when it fails, the log of what did not happen is taken back.
      const { path } = await auth.account.recover({ ...user, removeSecondFactors: input.removeSecondFactors });
      return { path, organizations: memberships.length };
    });
  } finally {
    await database.close();
  }
}
