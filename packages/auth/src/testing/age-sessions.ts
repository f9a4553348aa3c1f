// Lets an hour pass for the sessions of a running product, so that a test need not wait for it.
import { createDatabase, type Database } from '@fairlead/db';
import { identityClient } from '@fairlead/db/identity';

const hourMs = 60 * 60_000;

export async function ageSessions(databaseUrl: string): Promise<void> {
  const database = createDatabase({ url: databaseUrl, poolMax: 1, applicationName: 'a test' });
  try {
    await identityClient(database).session.updateMany({
      data: { createdAt: new Date(Date.now() - hourMs), confirmedAt: null },
    });
  } finally {
    await database.close();
  }
}

/** Changes when the sessions of a person were opened and what they have proven. */
export async function changeSessions(
  database: Database,
  userId: string,
  data: {
    readonly createdAt?: Date;
    readonly confirmedAt?: Date | null;
    readonly secondFactorAt?: Date | null;
  },
): Promise<void> {
  await identityClient(database).session.updateMany({ where: { userId }, data });
}
