// Tests of runEach: an item that fails is logged and keeps no other from its turn; a stopping worker begins none.
import { expect, test, vi } from 'vitest';
import { runEach } from './run-each.ts';

const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };

test('an item that fails is logged, and the next one has its turn', async () => {
  const done: number[] = [];
  const work = async ({ id }: { readonly id: number }) => {
    if (id === 1) throw new TypeError('unexpected');
    done.push(id);
  };
  await runEach({ log, stopping: new AbortController().signal }, [{ id: 1 }, { id: 2 }], { work, failed: 'it failed' });
  expect(done).toEqual([2]);
  expect(log.error).toHaveBeenCalledExactlyOnceWith({ err: new TypeError('unexpected'), item: { id: 1 } }, 'it failed');
});

test('a worker that stops begins no other item', async () => {
  const stopping = new AbortController();
  const work = vi.fn(async () => stopping.abort());
  await runEach({ log, stopping: stopping.signal }, [{}, {}], { work, failed: '' });
  expect(work).toHaveBeenCalledOnce();
});
