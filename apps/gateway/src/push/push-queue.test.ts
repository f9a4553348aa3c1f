import { create } from '@bufbuild/protobuf';
import { type Push, PushSchema } from '@fairlead/contract/agent';
import { expect, test } from 'vitest';
import { batchMax, createPushQueue } from './push-queue.ts';

function push(sequence: number): Push {
  return create(PushSchema, { sequence: BigInt(sequence) });
}

/** Creates a push queue in which the test decides when a batch is stored. */
function queueUnderTest() {
  const seen: string[] = [];
  const batches: { size: number; stored: () => void; failed: (error: Error) => void }[] = [];
  const arrived: (() => void)[] = [];
  const queue = createPushQueue({
    store: (pushes) => {
      const work = Promise.withResolvers<bigint>();
      batches.push({
        size: pushes.length,
        stored: () => work.resolve(pushes.at(-1)?.sequence ?? 0n),
        failed: work.reject,
      });
      arrived.shift()?.();
      return work.promise;
    },
    acknowledge: (sequence) => seen.push(`ack ${sequence}`),
    fail: (error) => seen.push(`fail ${error instanceof Error ? error.message : ''}`),
    pause: () => seen.push('pause'),
    resume: () => seen.push('resume'),
  });
  async function nextBatch() {
    const next = batches.shift();
    if (next !== undefined) return next;
    await new Promise<void>((resolve) => arrived.push(resolve));
    return nextBatch();
  }
  return { queue, seen, nextBatch };
}

test('the first push is stored at once, and pushes that arrive meanwhile form one batch', async () => {
  const { queue, seen, nextBatch } = queueUnderTest();
  for (let sequence = 1; sequence <= 5; sequence += 1) queue.add(push(sequence), 1);
  const first = await nextBatch();
  expect([first.size, seen]).toEqual([1, []]);
  first.stored();
  const second = await nextBatch();
  expect(second.size).toBe(4);
  expect(seen).toEqual(['ack 1']);
  second.stored();
  await queue.stop();
});

test('above its limit the queue pauses the agent, and resumes it once it has caught up', async () => {
  const { queue, seen, nextBatch } = queueUnderTest();
  const total = 1 + 512;
  for (let sequence = 1; sequence <= total; sequence += 1) queue.add(push(sequence), 1);
  expect(seen).toEqual(['pause']);
  (await nextBatch()).stored();
  const second = await nextBatch();
  expect(second.size).toBe(batchMax);
  second.stored();
  await nextBatch().then((batch) => batch.stored());
  await expect.poll(() => seen).toEqual(['pause', 'ack 1', 'ack 257', 'ack 513', 'resume']);
});

test('a few large pushes pause the agent too', async () => {
  const { queue, seen, nextBatch } = queueUnderTest();
  const megabytes = (count: number) => count * 1024 * 1024;
  queue.add(push(1), megabytes(12));
  queue.add(push(2), megabytes(12));
  expect(seen).toEqual([]);
  queue.add(push(3), megabytes(12));
  expect(seen).toEqual(['pause']);
  (await nextBatch()).stored();
  const rest = await nextBatch();
  expect(seen).toEqual(['pause', 'ack 1']);
  rest.stored();
  await expect.poll(() => seen).toEqual(['pause', 'ack 1', 'ack 3', 'resume']);
});

test('a batch that cannot be stored is reported and never acknowledged', async () => {
  const { queue, seen, nextBatch } = queueUnderTest();
  queue.add(push(1), 1);
  (await nextBatch()).failed(new Error('disk full'));
  await expect.poll(() => seen).toEqual(['fail disk full']);
});

test('a queue that stops while it stores acknowledges nothing more', async () => {
  const { queue, seen, nextBatch } = queueUnderTest();
  queue.add(push(1), 1);
  queue.add(push(2), 1);
  const first = await nextBatch();
  const stopped = queue.stop();
  first.stored();
  await stopped;
  expect(seen).toEqual([]);
});
