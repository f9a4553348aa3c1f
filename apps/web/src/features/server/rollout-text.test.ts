import { formatsOf } from '@fairlead/ui/formats';
import { expect, test } from 'vitest';
import type { AgentRollout } from '../../api/types.ts';
import { leftOutSentence, nameList, skipSentence, stopSentence, waveLabel, waveSentence } from './rollout-text.ts';

const formats = formatsOf({ locale: 'en-US', timeZone: 'UTC' });

type Server = AgentRollout['servers'][number];
const server = (name: string, wave: number | null, progress: Server['progress']): Server => ({
  id: `srv_${name}` as Server['id'],
  name,
  wave,
  progress,
  step: null,
});
const rollout = (changes: Partial<AgentRollout>): AgentRollout => ({
  id: 'aro_1' as AgentRollout['id'],
  version: '1.2.3',
  state: 'running',
  wave: 2,
  waveCount: 3,
  servers: [server('east', 1, 'upgraded'), server('west', 2, 'upgraded'), server('north', 2, 'upgrading')],
  leftOut: [],
  failedServer: null,
  reason: null,
  isOffered: true,
  requestedBy: null,
  createdAt: new Date(0),
  finishedAt: null,
  ...changes,
});
const named = (...names: string[]) => names.map((name) => ({ name }));

test('the progress names the wave and its servers', () => {
  expect(waveSentence(rollout({}), formats)).toBe('Wave 2 of 3: 1 of 2 servers upgraded.');
  expect(waveSentence(rollout({ wave: 1 }), formats)).toBe('Wave 1 of 3: 1 of 1 server upgraded.');
  expect(waveSentence(rollout({ wave: 0 }), formats)).toBe('The first upgrade starts within seconds.');
});

test('a stop names the server, the reason and the effect', () => {
  const stopped = rollout({ state: 'stopped', failedServer: 'north', reason: 'It hung.' });
  expect(stopSentence(stopped, formats)).toBe('north: It hung. 2 servers of 3 upgraded; no further upgrade starts.');
  expect(stopSentence({ ...stopped, failedServer: null }, formats)).toMatch(/^It hung\. /);
});

test('a rollout without an upgraded server says whether any was reachable', () => {
  const leftOut = (reason: 'offline' | 'unsupported') => ({ id: server('a', null, 'waiting').id, name: 'a', reason });
  expect(skipSentence({ leftOut: [leftOut('offline')] })).toBe('No server was reachable.');
  expect(skipSentence({ leftOut: [leftOut('offline'), leftOut('unsupported')] })).toBe('No server could be upgraded.');
  expect(skipSentence({ leftOut: [] })).toBe('No server could be upgraded.');
});

test('long lists of names end with a number', () => {
  expect(nameList(named('a', 'b'))).toBe('a and b');
  expect(nameList(named('a', 'b', 'c', 'd', 'e', 'f'))).toBe('a, b, c, d, e, and f');
  expect(nameList(named('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'))).toBe('a, b, c, d, e, and 3 more');
});

test('servers that are left out are grouped by reason', () => {
  const leftOut = (name: string, reason: 'offline' | 'unsupported') => ({
    id: server(name, null, 'waiting').id,
    name,
    reason,
  });
  expect(leftOutSentence([])).toBeNull();
  expect(leftOutSentence([leftOut('a', 'offline'), leftOut('b', 'unsupported'), leftOut('c', 'offline')])).toBe(
    'Left out: a and c (offline); b (its agent is too old to be upgraded from here).',
  );
});

test('each wave says how large it is', () => {
  const labels = (count: number) => Array.from({ length: count }, (_, at) => waveLabel(at, count));
  expect(labels(3)).toEqual(['One server first', 'A quarter of the servers', 'The rest']);
  expect(labels(2)).toEqual(['One server first', 'The rest']);
  expect(labels(1)).toEqual(['The only wave']);
});
