// Tests that planted secrets are nowhere in plain text, and that the search for them would find a leak.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Drill, startDrill } from '../secrets/drill.ts';
import { formsOf, search } from '../secrets/search.ts';

let drill: Drill;
beforeAll(async () => {
  drill = await startDrill();
});
afterAll(() => drill.stop());

test('no planted secret is in an answer, a log, an audit row, an error, a table, a file of the database or a desired state', async () => {
  const places = await drill.collect();
  for (const kind of [
    'answer',
    'log of the gateway',
    'log of the worker',
    'table public.audit_event',
    'files of',
    'desired',
  ]) {
    const found = places.filter(({ name, bytes }) => name.startsWith(kind) && bytes.length > 0);
    expect(found.length, kind).toBeGreaterThan(0);
  }
  expect(search(places, drill.planted)).toEqual([]);
});

test('each form of a secret is found between other bytes', () => {
  const planted = drill.planted[3];
  if (planted === undefined) throw new Error('nothing is planted');
  const { value } = planted;
  const texts = [value, encodeURIComponent(value), JSON.stringify({ value }), Buffer.from(value).toString('hex')];
  for (const before of ['', 'a', 'ab', 'abc']) {
    texts.push(Buffer.from(`${before}${value}${before}`).toString('base64'));
    texts.push(Buffer.from(`${before}${value}`).toString('base64url'));
  }
  for (const text of texts) {
    expect(search([{ name: 'x', bytes: Buffer.from(`before ${text} after`) }], [planted]), text).not.toEqual([]);
  }
  expect(formsOf(planted).length).toBeGreaterThan(5);
});

test('a leak planted in a table is found', async () => {
  const leaked = drill.planted[7];
  if (leaked === undefined) throw new Error('nothing is planted');
  await drill.world.system(({ tx }) =>
    tx.app.updateMany({
      where: { organizationId: drill.world.organizationId },
      data: { name: `app ${Buffer.from(leaked.value).toString('base64')}` },
    }),
  );
  const findings = search(await drill.collect(), drill.planted);
  expect(findings.map(({ place, secret }) => [place, secret])).toContainEqual(['table public.app', leaked.name]);
});
