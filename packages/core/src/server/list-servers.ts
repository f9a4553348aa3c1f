// Owns the list of servers.
import type { Ctx } from '../kernel/index.ts';
import type { ServerSummary } from './schema.ts';
import { loadServers } from './store.ts';

export async function listServers(ctx: Ctx): Promise<{ items: ServerSummary[] }> {
  return { items: await loadServers(ctx) };
}
