// Whether this process can serve: it answers only when the database does.
import { parts } from '../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const { database, log } = await parts();
  try {
    await database.system('answer a health check', (tx) => tx.$queryRaw`SELECT 1`);
    return new Response('ok\n', { headers: { 'cache-control': 'no-store' } });
  } catch (error) {
    log.warn({ err: error }, 'the health check found no database');
    return new Response('the database does not answer\n', { status: 503, headers: { 'cache-control': 'no-store' } });
  }
}
