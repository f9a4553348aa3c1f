import { expect, test } from 'vitest';
import { EventStreamError, readEventData } from './event-stream.ts';

async function* bytes(...parts: string[]): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) yield new TextEncoder().encode(part);
}

async function readAll(...parts: string[]): Promise<string[]> {
  const all: string[] = [];
  for await (const data of readEventData(bytes(...parts))) all.push(data);
  return all;
}

test('events split anywhere are reassembled', async () => {
  expect(await readAll('da', 'ta: {"a":', '1}\n', '\ndata:two\n\n')).toEqual(['{"a":1}', 'two']);
});

test('comments and other fields carry no data', async () => {
  expect(await readAll(': ping\n\nid: 4\nevent: x\ndata: y\n\n')).toEqual(['y']);
});

test('all line ends are understood, and several data lines are one event', async () => {
  expect(await readAll('data: a\r\ndata: b\r\n\r\n')).toEqual(['a\nb']);
});

test('a character split between two chunks survives', async () => {
  const whole = new TextEncoder().encode('data: é\n\n');
  async function* cut(): AsyncGenerator<Uint8Array, void> {
    yield whole.subarray(0, 7);
    yield whole.subarray(7);
  }
  const all: string[] = [];
  for await (const data of readEventData(cut())) all.push(data);
  expect(all).toEqual(['é']);
});

test('an unfinished event at the end is not an event', async () => {
  expect(await readAll('data: whole\n\ndata: cut')).toEqual(['whole']);
});

test('an endless event is rejected, not buffered', async () => {
  await expect(readAll(`data: ${'x'.repeat(5 * 1024 * 1024)}`)).rejects.toThrow(EventStreamError);
});
