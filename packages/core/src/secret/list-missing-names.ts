// Finds names that an app's code expects and that are not set, from its repository's .env.example as its builds
// report it. Names only; the example values are ignored.
import { findNewestConfig, loadSettings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { releasePlanSchema } from '../release/index.ts';
import { loadEntries } from './store.ts';

export interface Expected {
  /** Names expected by the newest built release; empty before there is one. */
  readonly expectedVariables: readonly string[];
  readonly missingNames: readonly string[];
}

/** Returns the names that the next release would lack. `exported` are the names of the secrets that it would get. */
export async function findExpected(
  ctx: OrganizationCtx,
  placement: { readonly appId: string; readonly environmentId: string },
  exported: ReadonlySet<string>,
): Promise<Expected> {
  const newest = await ctx.tx.release.findFirst({
    where: { ...placement, organizationId: ctx.organizationId },
    select: { plan: true },
    orderBy: { number: 'desc' },
  });
  const expectedVariables = releasePlanSchema.parse(newest?.plan ?? {}).expectedVariables;
  if (expectedVariables.length === 0) return { expectedVariables, missingNames: [] };
  const { settings } = await findNewestConfig(ctx, placement);
  return { expectedVariables, missingNames: missingOf(expectedVariables, exported, settings.variables) };
}

/** Returns the names that a release lacked when it was made. */
export async function listMissingNames(
  ctx: OrganizationCtx,
  release: {
    readonly plan: unknown;
    readonly configId: string | null;
    readonly secretSnapshotId: string | null;
  },
): Promise<string[]> {
  const { expectedVariables } = releasePlanSchema.parse(release.plan);
  if (expectedVariables.length === 0) return [];
  const entries = release.secretSnapshotId === null ? [] : await loadEntries(ctx, release.secretSnapshotId);
  const exported = new Set(entries.flatMap((entry) => (entry.exported ? [entry.name] : [])));
  return missingOf(expectedVariables, exported, (await loadSettings(ctx, release.configId)).variables);
}

function missingOf(
  expected: readonly string[],
  exported: ReadonlySet<string>,
  variables: Readonly<Record<string, unknown>>,
): string[] {
  return expected.filter((name) => !exported.has(name) && !Object.hasOwn(variables, name));
}
