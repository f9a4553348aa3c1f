import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { capabilities, supports } from './capabilities.ts';

const wire = new URL('../../../agents/crates/wire/src/lib.rs', import.meta.url);

test('the table has exactly the capabilities of the agent, each with a sentence', () => {
  const list = /pub const CAPABILITIES: \[&str; (\d+)\] = \[([^\]]*)\];/.exec(readFileSync(wire, 'utf8'));
  const names = [...(list?.[2] ?? '').matchAll(/"([^"]+)"/g)].map(([, name]) => name);
  expect(names).toHaveLength(Number(list?.[1]));
  expect(Object.keys(capabilities)).toEqual(names);
  for (const [name, meaning] of Object.entries(capabilities)) expect(meaning, name).toMatch(/^[A-Z].*\.$/);
});

test('an agent supports what it reported, beside names that this version does not know', () => {
  const reported = ['volume', 'from.the.future'];
  expect([supports(reported, 'volume'), supports(reported, 'worker')]).toEqual([true, false]);
  // @ts-expect-error A misspelt name does not compile.
  expect(supports(reported, 'volumes')).toBe(false);
});
