import { expect, test } from 'vitest';
import { liveHealth } from './live-health.ts';

test('connecting again is told apart from connecting for the first time', () => {
  const seen: string[] = [];
  const stop = liveHealth.subscribe(() => seen.push(liveHealth.read()));
  for (const status of ['connecting', 'live', 'connecting', 'connecting', 'live', 'idle', 'connecting'] as const)
    liveHealth.set(status);
  stop();
  expect(seen).toEqual(['connecting', 'live', 'reconnecting', 'live', 'idle', 'connecting']);
  liveHealth.set('idle');
});
