import { planFaults } from '@fairlead/core/benchmark/plan';
import { expect, test } from 'vitest';
import {
  choicesWith,
  draftFaults,
  draftOf,
  planOf,
  targetChoices,
  withLoadServers,
  withProtocols,
  withScenario,
  withServer,
  withUpstream,
} from './plan-draft.ts';

test('a draft keeps what the form does not show', () => {
  const plan = { ...planOf(draftOf()).plan, host: 'shop.example.test', warmupMs: 0, targets: ['proxy' as const] };
  expect(planOf({ ...draftOf(plan), path: '/health' }).plan).toEqual({ ...plan, path: '/health' });
});

test('a list that is none and a plan without protocols are incomplete', () => {
  expect(planOf(draftOf()).isComplete).toBe(true);
  expect(planOf({ ...draftOf(), concurrency: '1, many' }).isComplete).toBe(false);
  expect(planOf({ ...draftOf(), protocols: [] }).isComplete).toBe(false);
});

test('a scenario brings its rate, protocol and targets, and the lab its proxies', () => {
  const lab = withUpstream({ ...draftOf(), path: '/health' }, 'lab');
  expect(planFaults(planOf(lab).plan)).toEqual([]);
  expect(planOf(lab).plan).toMatchObject({
    upstream: 'lab',
    targets: ['proxy', 'direct', 'floor', 'nginx', 'haproxy'],
  });
  const slow = planOf(withScenario(lab, 'slow-upstream'));
  expect(slow.plan).toMatchObject({ requestsPerSecond: 200, protocols: ['http1'], connection: 'reused' });
  expect(planFaults(slow.plan)).toEqual([]);
  const latency = planOf(withScenario(withScenario(lab, 'slow-upstream'), 'latency'));
  expect(latency.plan).toMatchObject({ requestsPerSecond: null, concurrency: [1], protocols: ['http1'] });
  expect(planFaults(latency.plan)).toEqual([]);
  const deploy = withScenario(draftOf(), 'deploy');
  expect(planFaults(planOf(deploy).plan)).toEqual([]);
  expect(planOf(withUpstream(deploy, 'lab')).plan).toMatchObject({ scenario: 'matrix', requestsPerSecond: null });
  expect(planOf({ ...deploy, rate: 'fast' }).isComplete).toBe(false);
  expect(planOf({ ...deploy, thresholds: null }).isComplete).toBe(false);
});

test('a scenario keeps values of the person that it allows, and the matrix restores the others', () => {
  const burst = withScenario(draftOf(), 'burst');
  expect(burst).toMatchObject({ concurrency: '16', rate: '200', protocols: ['http1'] });
  const { concurrency, rate, protocols } = draftOf();
  expect(withScenario(burst, 'matrix')).toMatchObject({ concurrency, rate, protocols });

  const mine = { ...draftOf(), concurrency: '4, 128', rate: '50', protocols: ['http3'] as const };
  const kept = withScenario({ ...mine, targets: ['proxy'] }, 'burst');
  expect(kept).toMatchObject({ concurrency: '4, 128', rate: '50', protocols: ['http3'], targets: ['proxy'] });
  expect(planFaults(planOf(kept).plan)).toEqual([]);
  const wake = withScenario(kept, 'wake');
  expect(wake).toMatchObject({ concurrency: '4, 128', rate: '', protocols: ['http1'] });
  expect(planFaults(planOf(wake).plan)).toEqual([]);
  expect(withScenario(wake, 'matrix')).toMatchObject({ rate: '50', protocols: ['http3'], targets: ['proxy'] });
  // A later choice replaces an earlier one.
  expect(withScenario({ ...kept, rate: '200' }, 'matrix')).toMatchObject({ rate: '200' });
  expect(withScenario({ ...kept, rate: 'fast' }, 'deploy')).toMatchObject({ rate: '200', seconds: '10' });

  const latency = withScenario(withUpstream(mine, 'lab'), 'latency');
  expect(latency).toMatchObject({ concurrency: '1', rate: '', protocols: ['http1'] });
  expect(planFaults(planOf(latency).plan)).toEqual([]);
});

test('a field that the scenario hides makes no plan incomplete', () => {
  const loss = { ...withScenario(withUpstream(draftOf(), 'lab'), 'packet-loss'), loss: 'much' };
  expect(draftFaults(loss)).toEqual({ loss: 'Enter a percentage such as 1 or 2.5.' });
  expect(planOf(withScenario(loss, 'burst'))).toMatchObject({ isComplete: true, plan: { link: { lossPercent: 1 } } });
});

test('each invalid field has an error', () => {
  expect(draftFaults(draftOf())).toEqual({});
  for (const rate of ['fast', '0', '1.5', '100001', ' ']) {
    expect(draftFaults({ ...draftOf(), rate }).rate, rate).toMatch('Enter a number from 1');
  }
  expect(draftFaults({ ...draftOf(), concurrency: '' }).concurrency).toMatch('Enter numbers');
  expect(draftFaults({ ...draftOf(), protocols: [], targets: [] })).toEqual({
    protocols: 'Choose at least 1 protocol.',
    targets: 'Choose at least 1 target.',
  });
});

test('an invalid field of the load leaves the path, unless there are requests', () => {
  const draft = { ...draftOf(), path: '/health', load: null };
  expect(planOf(draft).plan.path).toBe('/health');
  expect(planOf({ ...draft, hasRequests: true }).plan.path).toBe('/');
});

test('packet loss and a wake have no rate, and an app server stays in the matrix', () => {
  const lab = withUpstream(draftOf(), 'lab');
  const loss = { ...withScenario(lab, 'packet-loss'), loss: '2.5', delay: '10' };
  expect(planOf(loss).plan).toMatchObject({ requestsPerSecond: null, link: { lossPercent: 2.5, delayMs: 10 } });
  expect(planFaults(planOf(loss).plan)).toEqual([]);
  expect(planOf({ ...loss, loss: '' }).isComplete).toBe(false);
  expect(planOf({ ...loss, loss: 'much' }).isComplete).toBe(false);
  const wake = withScenario(withScenario(draftOf(), 'burst'), 'wake');
  expect(planOf(wake).plan).toMatchObject({ requestsPerSecond: null, targets: ['proxy'] });
  expect(planFaults(planOf(wake).plan)).toEqual([]);
  const puma = { ...lab, server: 'puma' as const, responseDelay: '20' };
  expect(planOf(puma).plan.labApp).toMatchObject({ server: 'puma', responseDelayMs: 20 });
  expect(planOf(withScenario(puma, 'burst')).plan.labApp.server).toBe('own');
  const copy = { ...withServer(puma, 'release'), path: '/list' };
  expect(planOf(copy).plan).toMatchObject({ path: '/list', labApp: { server: 'release', responseDelayMs: 0 } });
  for (const other of [withServer(copy, 'own'), withScenario(copy, 'burst'), withScenario(copy, 'latency')]) {
    expect(planOf(other).plan).toMatchObject({ path: '/', labApp: { server: 'own' } });
  }
});

test('gRPC is chosen by itself, and leaves out what can not be measured over it', () => {
  const lab = withUpstream(draftOf(), 'lab');
  const mixed = { ...lab, targets: ['proxy', 'h2o'] as const, connection: 'fresh' as const, server: 'puma' as const };
  const calls = withProtocols(mixed, ['http1', 'http2', 'grpc']);
  expect(calls).toMatchObject({ protocols: ['grpc'], targets: ['proxy'], connection: 'reused', server: 'own' });
  expect(planFaults(planOf(calls).plan)).toEqual([]);
  expect(withProtocols(calls, ['http2', 'grpc']).protocols).toEqual(['http2']);
  expect(withProtocols(calls, []).protocols).toEqual([]);
  expect(withProtocols(lab, ['http1']).protocols).toEqual(['http1']);
  const live = withProtocols({ ...draftOf(), path: '/shop.Cart/Get' }, ['http1', 'grpc']);
  expect(planFaults(planOf(live).plan)).toEqual([]);
  expect(planFaults(planOf({ ...live, path: '/' }).plan)).toMatchObject([{ field: 'path' }]);
});

test('a choice offers the value of an uploaded plan', () => {
  expect(choicesWith([1, 2, 5], 2.5)).toEqual(['1', '2', '2.5', '5']);
  expect(choicesWith([1, 3], 3)).toEqual(['1', '3']);
});

test('load servers leave the proxy as the only target of an app', () => {
  const draft = draftOf();
  expect(targetChoices(draft, false)).toEqual(['proxy', 'direct']);
  expect(targetChoices(draft, true)).toEqual(['proxy']);
  expect(targetChoices(withScenario(draft, 'deploy'), false)).toEqual(['proxy']);
  const shared = withLoadServers(draft);
  expect(shared.targets).toEqual(['proxy']);
  // A draft that needs no change stays the same.
  expect(withLoadServers(shared)).toBe(shared);
  const lab = withUpstream(draft, 'lab');
  expect(withLoadServers(lab)).toBe(lab);
  expect(targetChoices(lab, true)).toContain('nginx');
});
