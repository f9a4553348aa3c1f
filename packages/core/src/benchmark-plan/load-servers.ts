// Load servers of saved plans: checks them before a plan is saved, and names the reason when a slot can't run with them.
import type { ErrorCode } from '@fairlead/contract/errors';
import { requireRunServers } from '../benchmark/index.ts';
import type { AppError, Ctx } from '../kernel/index.ts';

type LoadServersInput = Omit<Parameters<typeof requireRunServers>[1], 'mustBeConnected'>;

/**
 * Returns the names of the load servers. Throws the errors of `requireRunServers` except server.not_connected: a run checks
 * connections.
 */
export async function requireLoadServers(ctx: Ctx, input: LoadServersInput): Promise<string[]> {
  if (input.loadServerIds.length === 0) return [];
  const servers = await requireRunServers(ctx, { ...input, mustBeConnected: false });
  return servers.filter(({ role }) => role === 'load').map(({ name }) => name);
}

/** Reason to skip a slot, by the error that a load server caused. */
const loadServerSkips: Partial<Record<ErrorCode, ErrorCode>> = {
  'server.not_found': 'benchmark_plan.load_server_deleted',
  'server.not_connected': 'benchmark_plan.load_server_offline',
  'benchmark.unsupported': 'benchmark_plan.load_server_outdated',
};

/** Returns the reason of a skipped slot. */
export function skipReason({ code, details }: AppError, loadServerIds: readonly string[]): ErrorCode {
  const isOfLoadServer = loadServerIds.some((id) => id === details.serverId);
  if (isOfLoadServer) return loadServerSkips[code] ?? code;
  // An app that left the environment is not live there.
  return code === 'app.not_found' ? 'app.not_live' : code;
}
