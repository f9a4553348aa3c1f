import { expect, test } from 'vitest';
import { openScreen } from './screen.ts';

test('the first speaker is shown as it prints, the others complete when their turn comes', () => {
  let shown = '';
  const begin = openScreen((text) => {
    shown += text;
  });
  const [unit, contract, rust] = [begin(), begin(), begin()];
  contract.say('contract 1 ');
  unit.say('unit 1 ');
  rust.say('rust 1 ');
  contract.say('contract 2 ');
  contract.end();
  unit.say('unit 2 ');
  expect(shown).toBe('unit 1 unit 2 ');

  unit.end();
  rust.say('rust 2 ');
  expect(shown).toBe('unit 1 unit 2 contract 1 contract 2 rust 1 rust 2 ');

  rust.end();
  const system = begin();
  system.say('system');
  expect(shown.endsWith('rust 2 system')).toBe(true);
});
