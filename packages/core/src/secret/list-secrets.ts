// Returns the data of an app's secrets page: names, authors, times, undeployed changes and problems. No values.
import type { Ctx } from '../kernel/index.ts';
import { findExpected } from './list-missing-names.ts';
import type { AppSecrets, AppSecretsInput, SecretChange } from './schema.ts';
import { type EntryRow, loadEntries, loadShelves, requireAppPlacement, snapshotIdOf, viewOf } from './store.ts';

export async function listSecrets(ctx: Ctx, input: AppSecretsInput): Promise<AppSecrets> {
  const { appId } = input;
  const { environmentId, liveReleaseId, liveRelease, app } = await requireAppPlacement(ctx, input);
  const { own, groups, resolved } = await loadShelves(ctx, { appId, environmentId, projectId: app.projectId });
  const liveSnapshotId = snapshotIdOf(liveRelease?.secretSnapshotId);
  const live = liveSnapshotId === null ? [] : await loadEntries(ctx, liveSnapshotId);
  const exported = new Set(resolved.entries.flatMap((entry) => (entry.exported ? [entry.name] : [])));
  const expected = await findExpected(ctx, { appId, environmentId }, exported);
  return {
    secrets: own.map(viewOf),
    groups: groups
      .map(({ id, name, attached, secrets }) => ({ id, name, attached, secrets: secrets.map(viewOf) }))
      .sort((a, b) => Number(b.attached) - Number(a.attached)),
    changes: liveReleaseId === null ? null : changesOf(live, resolved.entries),
    problems: [...resolved.problems],
    expectedVariables: [...expected.expectedVariables],
    missingNames: [...expected.missingNames],
    liveSnapshotId,
  };
}

/** Returns changes by name for the app's own secrets, by group and name for a group's. */
function changesOf(live: readonly EntryRow[], next: readonly EntryRow[]): SecretChange[] {
  const label = ({ scope, name }: EntryRow) => (scope === '' ? name : `${scope}.${name}`);
  const before = new Map(live.map((entry) => [label(entry), entry]));
  const after = new Map(next.map((entry) => [label(entry), entry]));
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names.flatMap((name): SecretChange[] => {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === undefined) return [{ name, kind: 'added' }];
    if (is === undefined) return [{ name, kind: 'removed' }];
    return was.versionId === is.versionId && was.exported === is.exported ? [] : [{ name, kind: 'changed' }];
  });
}
