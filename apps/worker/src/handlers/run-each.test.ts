// Tests of runEach: an item that fails or takes long keeps no other from its turn; a stopping worker begins none.
import { expect, test, vi } from 'vitest';
import { runEach } from './run-each.ts';

const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const running = new AbortController().signal;
const itemOf = (organizationId: string, id: number) => ({ organizationId, id });

test('an item that fails is logged, and the next one has its turn', async () => {
  const done: number[] = [];
  const work = async ({ id }: { readonly id: number }) => {
    if (id === 1) throw new TypeError('unexpected');
    done.push(id);
  };
  await runEach({ log, stopping: running }, [itemOf('a', 1), itemOf('a', 2)], { work, failed: 'it failed' });
  expect(done).toEqual([2]);
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { err: new TypeError('unexpected'), item: itemOf('a', 1) },
    'it failed',
  );
});

test('an organization whose server does not answer delays only itself', async () => {
  const answer = Promise.withResolvers<void>();
  const done: number[] = [];
  const work = async ({ organizationId, id }: ReturnType<typeof itemOf>) => {
    if (organizationId === 'slow') await answer.promise;
    done.push(id);
  };
  const others = Array.from({ length: 20 }, (_, index) => itemOf(`org ${index}`, index + 3));
  const items = [itemOf('slow', 1), itemOf('slow', 2), ...others];
  const all = runEach({ log, stopping: running }, items, { work, failed: '' });
  await vi.waitFor(() => expect(done).toEqual(others.map(({ id }) => id)));
  answer.resolve();
  await all;
  expect(done.slice(-2)).toEqual([1, 2]);
});

test('a worker that stops begins no other item', async () => {
  const stopping = new AbortController();
  const work = vi.fn(async () => stopping.abort());
  await runEach({ log, stopping: stopping.signal }, [itemOf('a', 1), itemOf('a', 2)], { work, failed: '' });
  expect(work).toHaveBeenCalledOnce();
});
