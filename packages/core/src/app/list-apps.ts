// Lists apps, page by page, filtered and sorted.
import type { AppLinks } from '../domain/index.ts';
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { loadFigures } from '../metric/index.ts';
import { type Reach, reachWithin, wholeReach } from '../role/index.ts';
import { type SortableApp, sortApps } from './rules.ts';
import type { AppSummary, ListAppsInput } from './schema.ts';
import { type AppCursor, type AppFilter, countMatchingApps, loadAppFacts, loadApps } from './store.ts';

/**
 * Lists apps. By name, the cursor is an app's id and is looked up again, so a rename meanwhile moves the page. `ids`:
 * those of `attention`, which the caller finds.
 */
export async function listApps(
  ctx: Ctx,
  input: ListAppsInput,
  links: AppLinks,
  reach: Reach = wholeReach,
  ids?: readonly string[],
): Promise<CountedPage<AppSummary>> {
  const { search, environmentId, serverId, branch, limit, cursor, projectId } = input;
  const filter = { reach: await reachWithin(ctx, reach, projectId), ids, search, environmentId, serverId, branch };
  if (input.state !== undefined || (input.sort ?? 'name') !== 'name') {
    return listByFacts(ctx, input, filter, links);
  }
  const order = input.order === 'desc' ? 'name_descending' : 'name';
  const after = cursor ? await findCursor(ctx, cursor) : null;
  const apps = await loadApps(ctx, { ...filter, after, order, limit: limit + 1 }, links);
  const page = toPage(
    apps,
    limit,
    ({ summary }) => summary.id,
    ({ summary }) => summary,
  );
  return { ...page, total: cursor ? null : await countMatchingApps(ctx, filter) };
}

async function findCursor(ctx: Ctx, id: string): Promise<AppCursor | null> {
  return ctx.tx.app.findFirst({ where: { id, organizationId: ctx.organizationId }, select: { name: true, id: true } });
}

/**
 * States and figures are not columns: they follow from many rows. All matching apps are therefore sorted here, and only the
 * page is loaded whole.
 */
async function listByFacts(
  ctx: Ctx,
  input: ListAppsInput,
  filter: AppFilter,
  links: AppLinks,
): Promise<CountedPage<AppSummary>> {
  const { state, sort = 'name', order, limit, cursor } = input;
  const facts = await loadAppFacts(ctx, filter);
  const matching = state === undefined ? facts : facts.filter(({ status }) => status === state);
  const figures = isFigure(sort) ? await loadFigures(ctx, targetsOf(matching)) : new Map();
  const sorted = sortApps(
    matching.map((app): SortableApp => ({ ...app, ...figures.get(app.id) })),
    sort,
    order,
  );
  const start = startOf(sorted, cursor);
  const wanted = sorted.slice(start, start + limit).map(({ id }) => id);
  const loaded = await loadApps(ctx, { ...filter, ids: wanted, order: 'name', limit: wanted.length }, links);
  const summaries = new Map<string, AppSummary>(loaded.map(({ summary }) => [summary.id, summary]));
  const next = start + wanted.length;
  return {
    items: wanted.flatMap((id) => summaries.get(id) ?? []),
    nextCursor: next < sorted.length ? `${next}.${wanted.at(-1)}` : null,
    total: cursor ? null : sorted.length,
  };
}

const isFigure = (sort: string): boolean => sort === 'requests' || sort === 'errors' || sort === 'p99';

function targetsOf(apps: readonly { id: string; environmentId: string; serverIds: readonly string[] }[]) {
  return apps.flatMap(({ id: appId, environmentId, serverIds }) =>
    serverIds.map((serverId) => ({ appId, environmentId, serverId })),
  );
}

/** The cursor has the position and the id of the last app. Its id counts if it is still there, because figures change. */
function startOf(sorted: readonly { id: string }[], cursor: string | null | undefined): number {
  const [position = '', id] = (cursor ?? '').split('.');
  const last = sorted.findIndex((app) => app.id === id);
  if (last !== -1) return last + 1;
  return /^\d{1,6}$/.test(position) ? Number(position) : cursor ? sorted.length : 0;
}
