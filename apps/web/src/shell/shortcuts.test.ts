import { expect, test } from 'vitest';
import { idle, type KeyPress, pressKey } from './shortcuts.ts';

const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key,
  command: false,
  alt: false,
  inField: false,
  ...more,
});

test('g and then a letter navigates, within a moment', () => {
  const first = pressKey(idle, press('g'), 1000);
  expect(first.action).toEqual({ kind: 'none' });
  expect(pressKey(first.state, press('a'), 1500).action).toEqual({ kind: 'go', key: 'a' });
  expect(pressKey(first.state, press('a'), 9000).action).toEqual({ kind: 'none' });
});

test('any other key after g cancels it', () => {
  const first = pressKey(idle, press('g'), 0);
  const second = pressKey(first.state, press('Shift'), 100);
  expect(pressKey(second.state, press('a'), 200).action).toEqual({ kind: 'none' });
});

test('slash searches and question mark explains, but not while typing', () => {
  expect(pressKey(idle, press('/'), 0).action).toEqual({ kind: 'search' });
  expect(pressKey(idle, press('?'), 0).action).toEqual({ kind: 'help' });
  expect(pressKey(idle, press('/', { inField: true }), 0).action).toEqual({ kind: 'none' });
});

test('the palette opens from everywhere, other key combinations are left to the browser', () => {
  expect(pressKey(idle, press('K', { command: true, inField: true }), 0).action).toEqual({ kind: 'palette' });
  expect(pressKey(idle, press('g', { command: true }), 0).state).toEqual(idle);
});
