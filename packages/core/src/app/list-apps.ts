// Lists apps, page by page.
import type { AppLinks } from '../domain/index.ts';
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { type Reach, reachWithin, wholeReach } from '../role/index.ts';
import type { AppSummary, ListAppsInput } from './schema.ts';
import { type AppCursor, loadApps } from './store.ts';

/** Lists apps by name. The cursor is an app's id and is looked up again, so a rename meanwhile moves the page. */
export async function listApps(
  ctx: Ctx,
  input: ListAppsInput,
  links: AppLinks,
  reach: Reach = wholeReach,
): Promise<Page<AppSummary>> {
  const { search, limit, projectId } = input;
  const after = input.cursor ? await findCursor(ctx, input.cursor) : null;
  const seen = await reachWithin(ctx, reach, projectId);
  const apps = await loadApps(ctx, { reach: seen, search, after, order: 'name', limit: limit + 1 }, links);
  return toPage(
    apps,
    limit,
    ({ summary }) => summary.id,
    ({ summary }) => summary,
  );
}

async function findCursor(ctx: Ctx, id: string): Promise<AppCursor | null> {
  return ctx.tx.app.findFirst({ where: { id, organizationId: ctx.organizationId }, select: { name: true, id: true } });
}
