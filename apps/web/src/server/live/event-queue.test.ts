import { expect, test } from 'vitest';
import { createEventQueue } from './event-queue.ts';

async function readAll<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test('a reader gets events from before and after it began', async () => {
  const queue = createEventQueue<number>(10, () => [-1]);
  queue.push(1);
  const read = readAll(queue.read());
  queue.push(2);
  queue.end();
  expect(await read).toEqual([1, 2]);
});

test('a slow reader loses the oldest events and is notified once', async () => {
  const queue = createEventQueue<number>(2, () => [-1]);
  for (const event of [1, 2, 3, 4]) queue.push(event);
  queue.end();
  expect(await readAll(queue.read())).toEqual([-1, 3, 4]);
});

test('no event is accepted after the end', async () => {
  const queue = createEventQueue<number>(2, () => [-1]);
  queue.end();
  queue.push(1);
  expect(await readAll(queue.read())).toEqual([]);
});

test('a failure reaches the reader after what came before it', async () => {
  const queue = createEventQueue<number>(2, () => [-1]);
  queue.push(1);
  queue.fail(new Error('gone'));
  const seen: number[] = [];
  await expect(async () => {
    for await (const event of queue.read()) seen.push(event);
  }).rejects.toThrow('gone');
  expect(seen).toEqual([1]);
});
