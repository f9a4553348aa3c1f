// Tests of turns: an item that fails or takes long keeps no other organization waiting; a stopping worker begins none.
import { expect, test, vi } from 'vitest';
import { createOrganizationTurns } from './organization-turns.ts';

const job = 'github.report';
const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const itemOf = (organizationId: string, id: number) => ({ organizationId, id });

test('an item that fails is logged, and the next one has its turn', async () => {
  const turns = createOrganizationTurns({ log, stopping: new AbortController().signal });
  const done: number[] = [];
  const work = async ({ id }: { readonly id: number }) => {
    if (id === 1) throw new TypeError('unexpected');
    done.push(id);
  };
  await turns.runEach(job, [itemOf('a', 1), itemOf('a', 2)], { work, failed: 'it failed' });
  expect(done).toEqual([2]);
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { err: new TypeError('unexpected'), item: itemOf('a', 1) },
    'it failed',
  );
  expect(turns.busy(job)).toEqual([]);
});

test('an organization whose server does not answer delays only itself, and is busy until it did', async () => {
  const turns = createOrganizationTurns({ log, stopping: new AbortController().signal });
  const answer = Promise.withResolvers<void>();
  const done: number[] = [];
  const work = async ({ organizationId, id }: ReturnType<typeof itemOf>) => {
    if (organizationId === 'slow') await answer.promise;
    done.push(id);
  };
  const others = Array.from({ length: 20 }, (_, index) => itemOf(`org ${index}`, index + 3));
  const items = [itemOf('slow', 1), itemOf('slow', 2), ...others];
  const all = turns.runEach(job, items, { work, failed: '' });
  await vi.waitFor(() => expect(done).toEqual(others.map(({ id }) => id)));
  expect(turns.busy(job)).toEqual(['slow']);
  expect(turns.busy('deployment.checks')).toEqual([]);
  answer.resolve();
  await all;
  expect(done.slice(-2)).toEqual([1, 2]);
  expect(turns.busy(job)).toEqual([]);
});

test('a worker that stops begins no other item', async () => {
  const stopping = new AbortController();
  const work = vi.fn(async () => stopping.abort());
  const turns = createOrganizationTurns({ log, stopping: stopping.signal });
  await turns.runEach(job, [itemOf('a', 1), itemOf('a', 2)], { work, failed: '' });
  expect(work).toHaveBeenCalledOnce();
});
