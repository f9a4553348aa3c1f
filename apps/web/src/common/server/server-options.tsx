// Options of a server select. An offline server can be chosen: its work waits for it.
import type { ServerSummary } from '../../api/types.ts';

export function ServerOptions({ servers }: { readonly servers: readonly ServerSummary[] }) {
  return servers.map((server) => (
    <option key={server.id} value={server.id}>
      {serverLabel(server)}
    </option>
  ));
}

/** Drained servers get no app. */
export function openServers(servers: readonly ServerSummary[]): readonly ServerSummary[] {
  return servers.filter(({ drainedAt }) => drainedAt === null);
}

export function serverLabel({ name, state }: Pick<ServerSummary, 'name' | 'state'>): string {
  return state === 'online' ? name : `${name} (offline)`;
}
