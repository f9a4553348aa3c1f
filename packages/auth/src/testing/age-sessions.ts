// Lets an hour pass for the sessions of a running product, so that a test need not wait for it.
import { createDatabase } from '@fairlead/db';
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
