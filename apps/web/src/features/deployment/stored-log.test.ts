// Tests of the reading of a log in pages.
import { expect, test } from 'vitest';
import { PAGE_LINES, readStoredLog } from './stored-log.ts';

const line = (number: number) => ({ number, stream: 'stdout' as const, step: 'build', text: `${number}`, unixMs: 1 });

test('a log of several pages is read to its end', async () => {
  const asked: number[] = [];
  const log = await readStoredLog(async (fromLine) => {
    asked.push(fromLine);
    const nextLine = Math.min(fromLine + PAGE_LINES, 12_000);
    return { lines: [line(fromLine)], nextLine, totalLines: 12_000, complete: nextLine === 12_000 };
  });
  expect(asked).toEqual([0, 5000, 10_000]);
  expect(log).toEqual({ lines: [line(0), line(5000), line(10_000)], nextLine: 12_000, complete: true });
});

test('a page that leads no further ends the reading', async () => {
  const log = await readStoredLog(async () => ({ lines: [], nextLine: 0, totalLines: 5, complete: false }));
  expect(log).toEqual({ lines: [], nextLine: 0, complete: false });
});
