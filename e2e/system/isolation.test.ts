// Short form of `npm run check:isolation`: a dozen attacks in each mode, with one test for each mode.
import { beforeAll, expect, test } from 'vitest';
import type { Mode } from '../isolation/attack.ts';
import { attacksOf, checkIsolation, problemsOf, problemsOfSentences } from '../isolation/check.ts';
import type { ModeResult } from '../isolation/server-drill.ts';

let results: Partial<Record<Mode, ModeResult>>;

beforeAll(async () => {
  const modes = (['full', 'weaker'] as const).map((mode) => ({ mode, attacks: attacksOf(mode, true) }));
  results = await checkIsolation({ modes, note: () => undefined });
}, 240_000);

function resultOf(mode: Mode): ModeResult {
  const result = results[mode];
  if (result === undefined) throw new Error(`the ${mode} mode was not checked`);
  return result;
}

test('where each instance has a network of its own, no attack succeeds', () => {
  expect(problemsOf('full', attacksOf('full', true), resultOf('full'))).toEqual([]);
});

test('where apps share the server’s network, exactly the attacks succeed that its page admits', () => {
  expect(problemsOf('weaker', attacksOf('weaker', true), resultOf('weaker'))).toEqual([]);
  expect(problemsOfSentences(resultOf('full').sentences, resultOf('weaker').sentences)).toEqual([]);
});
