// Health check of the web process: succeeds only when the database responds.
import { parts } from '../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const { health } = await parts();
  const headers = { 'cache-control': 'no-store' };
  if (await health.isHealthy()) return new Response('ok\n', { headers });
  return new Response('the database does not answer\n', { status: 503, headers });
}
