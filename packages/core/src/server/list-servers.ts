// Lists servers, filtered and sorted.
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { sortServers } from './rules.ts';
import type { AgentOffer, ListServersInput, ServerSummary } from './schema.ts';
import { loadServers } from './store.ts';

/**
 * Lists servers. An organization has few of them, and most columns follow from many rows, so all are loaded and sorted here.
 * The cursor is a server's id. `ids`: those of `attention`, which the caller finds.
 */
export async function listServers(
  ctx: Ctx,
  input: ListServersInput = {},
  offers: readonly AgentOffer[] = [],
  ids?: readonly string[],
): Promise<CountedPage<ServerSummary>> {
  const { search, state, drained, projectId, sort = 'name', order, cursor } = input;
  const servers = await loadServers(ctx, offers, { projectId, ids });
  const needle = search?.toLowerCase() ?? '';
  const matching = servers.filter(
    (server) =>
      (server.name.toLowerCase().includes(needle) || server.host.hostname.toLowerCase().includes(needle)) &&
      (state === undefined || server.state === state) &&
      (drained === undefined || (server.drainedAt !== null) === drained),
  );
  const sorted = sortServers(matching, sort, order);
  const rest = cursor ? sorted.slice(positionAfter(sorted, cursor)) : sorted;
  const page = toPage(
    rest,
    input.limit ?? rest.length,
    ({ id }) => id,
    (server) => server,
  );
  return { ...page, total: cursor ? null : sorted.length };
}

/** A cursor that is no server of the list finds nothing. */
function positionAfter(servers: readonly ServerSummary[], id: string): number {
  const position = servers.findIndex((server) => server.id === id);
  return position === -1 ? servers.length : position + 1;
}
