import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import type { DeploymentSummary, Release } from '../../api/types.ts';
import { releasesOfRows } from './releases-of-rows.ts';

type Row = Pick<DeploymentSummary, 'id' | 'releaseId' | 'state'>;

const [first, second, removed] = [newId('rel'), newId('rel'), newId('rel')];
const releases = [
  { id: second, isLive: true, isKept: true },
  { id: first, isLive: false, isKept: true },
  { id: removed, isLive: false, isKept: false },
] as Release[];
const deployment = (releaseId: Row['releaseId'], state: Row['state'] = 'live'): Row => ({
  id: newId('dep'),
  releaseId,
  state,
});
const match = (rows: readonly Row[]) => {
  const matched = releasesOfRows(rows as DeploymentSummary[], releases);
  return rows.map(({ id }) => matched.get(id)?.canRollBack ?? null);
};

test('a kept release is offered once, at its newest deployment', () => {
  expect(match([deployment(second), deployment(first), deployment(first)])).toEqual([false, true, false]);
});

test('the live release and one whose artifact was removed are not offered', () => {
  expect(match([deployment(second), deployment(removed)])).toEqual([false, false]);
});

test('a deployment that never went live has no release to return to', () => {
  expect(match([deployment(first, 'failed'), deployment(null, 'queued'), deployment(newId('rel'))])).toEqual([
    null,
    null,
    null,
  ]);
});
