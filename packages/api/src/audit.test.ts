// Audit of changes: each mutation of the router is called with a valid input, and must leave an event of its own.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { answerAuditExport } from './index.ts';
import { apiRouter } from './router.ts';
import { auditCalls } from './testing/audit/calls.ts';
import type { AuditStage } from './testing/audit/inputs.ts';
import { origin, startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: { cookie: string; userId: string };
const nobody = { cookie: '', userId: '' };
/** Read only when a call is made: while tests are collected, the stage does not exist yet. */
const stage: AuditStage = {
  get api() {
    return api;
  },
  get owner() {
    return owner;
  },
  other: nobody,
  elsewhere: { id: '', slug: '' },
  made: 0,
};
const calls = auditCalls(stage);

beforeAll(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
});
afterAll(() => api.close());

const byPath = apiRouter._def.procedures as unknown as Record<string, { readonly _def: { readonly type: string } }>;
const mutations = Object.keys(byPath).filter(
  (path) => byPath[path]?._def.type === 'mutation' && !path.startsWith('account.'),
);
// The last call leaves no one who could make the others.
const ordered = Object.entries(calls).sort(([, a], [, b]) => Number(a.asStranger ?? 0) - Number(b.asStranger ?? 0));

/** Every event after the given one of the chain, oldest first. */
async function eventsAfter(sequence: bigint, organizationId: string) {
  return api.world.system(async ({ tx }) => {
    const links = await tx.auditLink.findMany({
      where: { organizationId, sequence: { gt: sequence } },
      orderBy: { sequence: 'asc' },
    });
    const events = await tx.auditEvent.findMany({ where: { id: { in: links.map(({ eventId }) => eventId) } } });
    return links.map((link) => ({ ...events.find(({ id }) => id === link.eventId), sequence: link.sequence }));
  });
}

test('each mutation of the router is called here', () => {
  expect(mutations.length).toBeGreaterThan(10);
  expect(Object.keys(calls).sort()).toEqual([...mutations].sort());
});

describe('audit events with actor, action, target and address', () => {
  beforeEach(() => api.world.clock.forward(1000));

  test.each(ordered)('%s', async (path, { input, action, asStranger, after, by, at, logOf }) => {
    const given = await input();
    const person = by?.() ?? owner;
    const place = at?.() ?? { id: api.world.organizationId, slug: api.world.organizationSlug };
    const seen = (await eventsAfter(0n, place.id)).at(-1)?.sequence ?? 0n;
    const forwarded = { 'x-forwarded-for': '203.0.113.9, 10.0.0.2' };
    let target: unknown = api.caller(asStranger ? undefined : person.cookie, place.slug, forwarded);
    for (const part of path.split('.')) target = (target as Record<string, unknown>)[part];
    const answer = await (target as (input: unknown) => Promise<unknown>)(given);
    const events = logOf === undefined ? await eventsAfter(seen, place.id) : await eventsAfter(0n, logOf(answer));
    if (action === null) expect(events).toEqual([]);
    else expect(events.map((event) => event.action)).toContain(action);
    for (const event of events) {
      expect(event).toMatchObject({
        actorKind: 'member',
        ip: '203.0.113.9',
        targetId: expect.stringMatching(/^[a-z]+_/),
      });
      if (!asStranger) expect(event.actorId).toBe(person.userId);
    }
    await after?.();
  });
});

describe('the export', () => {
  let reader: { cookie: string };
  beforeAll(async () => {
    reader = await api.signUp('Reader', 'admin');
  });
  const download = (query: string, cookie = reader.cookie) =>
    answerAuditExport(
      api.parts,
      new Request(`${origin}/api/audit/export?organization=${api.world.organizationSlug}${query}`, {
        headers: { cookie },
      }),
    );

  test('streams events that match the filter to readers of the log', async () => {
    const response = await download('&action=server&format=ndjson');
    expect(response.headers.get('content-disposition')).toContain(`audit-${api.world.organizationSlug}.ndjson`);
    const actions = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).action);
    expect(actions).toEqual([
      'server.enrol',
      'server.update_base_domain',
      'server.update_addresses',
      'server.update_proxy',
      'server.upgrade',
      'server.drain',
      'server.drain',
      'server.move_apps',
      'server.uninstall',
      'server.delete',
    ]);
    expect(await (await download('&format=csv')).text()).toMatch(/^sequence,at,/);
  });

  test('refuses all others, and unknown formats', async () => {
    const viewer = await api.signUp('Looker', 'viewer');
    expect((await download('', viewer.cookie)).status).toBe(403);
    expect((await download('', '')).status).toBe(401);
    expect((await download('&format=xml')).status).toBe(400);
  });
});
