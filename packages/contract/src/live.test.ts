import { expect, test } from 'vitest';
import { newId } from './ids.ts';
import { formatLiveTopic, parseLiveTopic } from './live.ts';

test('a topic survives its way through a query string', () => {
  for (const topic of [
    { kind: 'app', id: newId('app') },
    { kind: 'benchmark', id: newId('run') },
    { kind: 'organization', id: newId('org') },
  ] as const) {
    expect(parseLiveTopic(formatLiveTopic(topic))).toEqual(topic);
  }
});

test('an unknown topic is refused', () => {
  for (const bad of ['', ':', 'app', 'app:', 'app:srv_abc', 'member:mem_abc', 'app:app_../x']) {
    expect(parseLiveTopic(bad), bad).toBeNull();
  }
});
