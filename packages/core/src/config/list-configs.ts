// Lists the versions of an app's settings in one environment.
import { parseId } from '@fairlead/contract/ids';
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { diffSettings } from './diff-settings.ts';
import { type ConfigVersion, defaultSettings, type ListConfigsInput, settingsSchema } from './schema.ts';

/** Newest first. The cursor is a version's number. */
export async function listConfigs(ctx: Ctx, input: ListConfigsInput): Promise<Page<ConfigVersion>> {
  const { organizationId } = ctx;
  const { environmentId } = await requirePlacement(ctx, input);
  const before = Number.parseInt(input.cursor ?? '', 10);
  // One more than the page and its successor: the last one shown is compared with it.
  const rows = await ctx.tx.appConfig.findMany({
    where: {
      appId: input.appId,
      environmentId,
      organizationId,
      ...(Number.isSafeInteger(before) ? { number: { lt: before } } : {}),
    },
    orderBy: { number: 'desc' },
    take: input.limit + 1,
  });
  const authors = await ctx.tx.user.findMany({
    where: { id: { in: rows.flatMap(({ authorUserId }) => authorUserId ?? []) } },
    select: { id: true, name: true },
  });
  const names = new Map(authors.map(({ id, name }) => [id, name]));
  const settingsOf = new Map(rows.map((row) => [row.number, settingsSchema.parse(row.settings)]));
  return toPage(
    rows,
    input.limit,
    (row) => String(row.number),
    (row) => ({
      id: parseId('cfg', row.id),
      number: row.number,
      createdAt: row.createdAt,
      authorName: row.authorUserId === null ? null : (names.get(row.authorUserId) ?? null),
      changed: diffSettings(
        settingsOf.get(row.number - 1) ?? defaultSettings,
        settingsOf.get(row.number) ?? defaultSettings,
      ).map(({ name }) => name),
    }),
  );
}
