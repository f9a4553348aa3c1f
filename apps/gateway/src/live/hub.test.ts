import { newId } from '@fairlead/contract/ids';
import type { LiveEvent } from '@fairlead/contract/live';
import { expect, test } from 'vitest';
import { createLiveHub } from './hub.ts';

const [acme, other] = [newId('org'), newId('org')];
const appId = newId('app');

function changed(kind: 'app' | 'server', id: string): LiveEvent {
  return { type: 'changed', kind, id };
}

test('watchers get the topics they asked for, of their organization only', () => {
  const hub = createLiveHub();
  const seen: string[] = [];
  hub.subscribe(acme, [{ kind: 'app', id: appId }], () => seen.push('app'));
  hub.subscribe(acme, [{ kind: 'organization', id: acme }], () => seen.push('organization'));
  hub.subscribe(other, [{ kind: 'app', id: appId }], () => seen.push('foreign'));

  hub.publish(acme, changed('app', appId));
  hub.publish(acme, changed('server', newId('srv')));
  expect(seen).toEqual(['app', 'organization', 'organization']);
});

test('an event that fits two topics of a watcher comes once, and none after the end', () => {
  const hub = createLiveHub();
  const seen: LiveEvent[] = [];
  const topics = [
    { kind: 'app', id: appId },
    { kind: 'organization', id: acme },
  ] as const;
  const end = hub.subscribe(acme, topics, (event) => seen.push(event));
  hub.publish(acme, changed('app', appId));
  end();
  hub.publish(acme, changed('app', appId));
  expect(seen).toHaveLength(1);
});
