// Lists servers.
import type { Ctx } from '../kernel/index.ts';
import type { AgentOffer, ServerSummary } from './schema.ts';
import { loadServers } from './store.ts';

export async function listServers(ctx: Ctx, offers: readonly AgentOffer[] = []): Promise<{ items: ServerSummary[] }> {
  return { items: await loadServers(ctx, offers) };
}
