// Load servers of saved plans: which ones a plan may be saved with, and why a slot can't run with them.
import type { ErrorCode } from '@fairlead/contract/errors';
import { requireRunServers } from '../benchmark/index.ts';
import type { AppError, Ctx } from '../kernel/index.ts';

type LoadServersInput = Omit<Parameters<typeof requireRunServers>[1], 'mustBeConnected'>;

/**
 * Returns their names. Throws what a run throws for servers that can't be its load servers, except for those that are not
 * connected now.
 */
export async function requireLoadServers(ctx: Ctx, input: LoadServersInput): Promise<string[]> {
  if (input.loadServerIds.length === 0) return [];
  const servers = await requireRunServers(ctx, { ...input, mustBeConnected: false });
  return servers.filter(({ role }) => role === 'load').map(({ name }) => name);
}

/** Errors of a server, as the reason of a slot that is skipped for a load server. */
const loadServerSkips: Partial<Record<ErrorCode, ErrorCode>> = {
  'server.not_found': 'benchmark_plan.load_server_deleted',
  'server.not_connected': 'benchmark_plan.load_server_offline',
  'benchmark.unsupported': 'benchmark_plan.load_server_outdated',
};

/** Returns the reason of a skipped slot. */
export function skipOf({ code, details }: AppError, loadServerIds: readonly string[]): ErrorCode {
  const isOfLoadServer = loadServerIds.some((id) => id === details.serverId);
  if (isOfLoadServer) return loadServerSkips[code] ?? code;
  // An app that left the environment is not live there.
  return code === 'app.not_found' ? 'app.not_live' : code;
}
