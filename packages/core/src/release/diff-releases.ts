// Compares two releases of an app in one environment. Secrets are compared by version: no value is read.

import { diffSettings, loadSettings } from '../config/index.ts';
import { commandLine } from '../kernel/command.ts';
import { AppError, type Ctx, type OrganizationCtx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import type { DiffReleasesInput, ReleaseDiff } from './schema.ts';

export async function diffReleases(ctx: Ctx, input: DiffReleasesInput): Promise<ReleaseDiff> {
  const { environmentId } = await requirePlacement(ctx, input);
  const [from, to] = [
    await requireRelease(ctx, input.appId, environmentId, input.fromReleaseId),
    await requireRelease(ctx, input.appId, environmentId, input.toReleaseId),
  ];
  const names = ['commitHash', 'commitSubject', 'artifactDigest', 'runtime', 'command', 'healthPath'] as const;
  const textOf = (value: string | readonly string[]): string =>
    typeof value === 'string' ? value : commandLine(value);
  return {
    fromNumber: from.number,
    toNumber: to.number,
    artifact: names.flatMap((name) => {
      const sides = { before: textOf(from[name]), after: textOf(to[name]) };
      return sides.before === sides.after ? [] : [{ name, ...sides }];
    }),
    settings: diffSettings(await loadSettings(ctx, from.configId), await loadSettings(ctx, to.configId)),
    secrets: diffSecrets(await loadSecrets(ctx, from.secretSnapshotId), await loadSecrets(ctx, to.secretSnapshotId)),
  };
}

interface ComparedRelease {
  readonly configId: string | null;
  readonly secretSnapshotId: string | null;
}

/** Returns the names of settings and secrets that differ. */
export async function compareReleases(
  ctx: OrganizationCtx,
  from: ComparedRelease,
  to: ComparedRelease,
): Promise<{ readonly settings: readonly string[]; readonly secrets: readonly string[] }> {
  const settings = diffSettings(await loadSettings(ctx, from.configId), await loadSettings(ctx, to.configId));
  const secrets = diffSecrets(
    await loadSecrets(ctx, from.secretSnapshotId),
    await loadSecrets(ctx, to.secretSnapshotId),
  );
  return { settings: settings.map(({ name }) => name), secrets: secrets.map(({ name }) => name) };
}

async function requireRelease(ctx: Ctx, appId: string, environmentId: string, releaseId: string) {
  const row = await ctx.tx.release.findFirst({
    where: { id: releaseId, appId, environmentId, organizationId: ctx.organizationId },
  });
  if (row === null) throw new AppError('release.not_found', { releaseId });
  return row;
}

interface UsedSecret {
  readonly number: number;
  readonly at: Date;
}

/** Returns the version of each secret that the snapshot gives to the app, keyed by name. */
async function loadSecrets(ctx: OrganizationCtx, snapshotId: string | null): Promise<Map<string, UsedSecret>> {
  if (snapshotId === null) return new Map();
  const rows = await ctx.tx.secretSnapshotEntry.findMany({
    where: { snapshotId, organizationId: ctx.organizationId, exported: true },
    select: { name: true, version: { select: { number: true, createdAt: true } } },
  });
  return new Map(rows.map(({ name, version }) => [name, { number: version.number, at: version.createdAt }]));
}

function diffSecrets(before: ReadonlyMap<string, UsedSecret>, after: ReadonlyMap<string, UsedSecret>) {
  const sideOf = (used: UsedSecret | undefined): string | null =>
    used === undefined ? null : `version ${used.number} of ${used.at.toISOString()}`;
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((name) => {
    const sides = { before: sideOf(before.get(name)), after: sideOf(after.get(name)) };
    return sides.before === sides.after ? [] : [{ name, ...sides }];
  });
}
