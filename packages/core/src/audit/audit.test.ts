import type { AuditAction } from '@fairlead/contract/audit-actions';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { csvCell } from './export-audit.ts';
import { type AuditVerdict, changedFields, exportAudit, listAudit, recordAudit, verifyAudit } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterEach(() => db.drop());

const write = (label: string, action: AuditAction = 'app.update') =>
  world.tenant((ctx) =>
    recordAudit(ctx, {
      action,
      target: { kind: 'app', id: `app_${label}`, label },
      before: { name: 'old', command: ['a', 'b'] },
      after: { name: label, port: 80, on: true, none: null },
    }),
  );
const verify = (known?: { sequence: number; hash: string }): Promise<AuditVerdict> =>
  world.tenant((ctx) => verifyAudit(ctx, known === undefined ? {} : { known }));
const list = (input: object = {}) => world.tenant((ctx) => listAudit(ctx, { limit: 50, ...input }));

/**
 * Runs a statement as the owner of the tables, past the grants and the row-level security that bind the application.
 */
async function asOwner(statement: string): Promise<void> {
  for (const table of ['audit_event', 'audit_link'])
    await db.asOwner(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`);
  await db.asOwner(statement);
  for (const table of ['audit_event', 'audit_link']) await db.asOwner(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
}

test('an untouched log verifies, and reports its length', async () => {
  for (const label of ['one', 'two', 'three']) await write(label);
  const verdict = await verify();
  const [newest] = (await list()).items;
  expect(verdict).toMatchObject({
    whole: true,
    broken: null,
    head: { sequence: newest?.sequence, hash: newest?.hash },
  });
  expect(verdict.checked).toBe(newest?.sequence);
  expect(await verify(verdict.head ?? undefined)).toMatchObject({ whole: true });
});

test('concurrent commits get one position in the chain each', async () => {
  await Promise.all(Array.from({ length: 20 }, (_, index) => write(`app ${index}`)));
  expect(await verify()).toMatchObject({ whole: true });
  const sequences = (await list()).items.map(({ sequence }) => sequence);
  expect(sequences).toEqual(Array.from({ length: sequences.length }, (_, index) => sequences.length - index));
});

test('a rolled-back change leaves neither an event nor a gap', async () => {
  await write('kept');
  const { head } = await verify();
  const failed = world.tenant(async (ctx) => {
    await recordAudit(ctx, { action: 'app.delete', target: { kind: 'app', id: 'app_x', label: 'lost' } });
    throw new Error('on purpose');
  });
  await expect(failed).rejects.toThrow('on purpose');
  await write('next');
  expect(await verify(head ?? undefined)).toMatchObject({ whole: true, checked: (head?.sequence ?? 0) + 1 });
});

test('no role of the application may change or delete an event or a link', async () => {
  await write('fixed');
  for (const table of ['audit_event', 'audit_link']) {
    for (const statement of [
      `UPDATE ${table} SET organization_id = organization_id`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
    ]) {
      await expect(
        world.tenant(({ tx }) => tx.$executeRawUnsafe(statement)),
        statement,
      ).rejects.toThrow(/permission denied/);
      await expect(
        world.system(({ tx }) => tx.$executeRawUnsafe(statement)),
        statement,
      ).rejects.toThrow(/permission denied/);
    }
  }
});

const tampering = [
  ['an event that was edited', `UPDATE audit_event SET target_label = 'another' WHERE target_label = 'two'`, 'changed'],
  ['an event whose fields were edited', `UPDATE audit_event SET before = '{}' WHERE target_label = 'two'`, 'changed'],
  ['an event moved in time', `UPDATE audit_event SET at = at - interval '1 day' WHERE target_label = 'two'`, 'changed'],
  ['an event that was deleted', `DELETE FROM audit_event WHERE target_label = 'two'`, 'missing'],
  [
    'an event deleted with its link',
    `WITH gone AS (DELETE FROM audit_event WHERE target_label = 'two' RETURNING id)
     DELETE FROM audit_link USING gone WHERE audit_link.event_id = gone.id`,
    'missing',
  ],
] as const;

test.each(tampering)('%s is found at its position', async (_what, statement, reason) => {
  for (const label of ['one', 'two', 'three']) await write(label);
  const { items } = await list({ search: 'two' });
  await asOwner(statement);
  expect(await verify()).toMatchObject({ whole: false, broken: { sequence: items[0]?.sequence, reason } });
});

test('a hash that was made to fit an edited event breaks the link after it', async () => {
  for (const label of ['one', 'two', 'three']) await write(label);
  const three = (await list({ search: 'three' })).items[0];
  await asOwner(`
    WITH edited AS (UPDATE audit_event SET ip = '203.0.113.9' WHERE target_label = 'two' RETURNING *)
    UPDATE audit_link AS link SET hash = guard.audit_hash(before.hash, link.sequence, edited)
    FROM edited, audit_link AS before
    WHERE link.event_id = edited.id AND before.organization_id = link.organization_id
      AND before.sequence = link.sequence - 1`);
  expect(await verify()).toMatchObject({ whole: false, broken: { sequence: three?.sequence, reason: 'changed' } });
});

test('an event that was put in past the chain is found', async () => {
  await write('one');
  await asOwner('ALTER TABLE audit_event DISABLE TRIGGER audit_event_linked');
  await write('smuggled');
  expect(await verify()).toMatchObject({ whole: false, broken: { sequence: null, reason: 'unlinked' } });
});

test('a truncated or rebuilt chain is consistent, but differs from a recorded head', async () => {
  for (const label of ['one', 'two', 'three']) await write(label);
  const { head } = await verify();
  if (head === null) throw new Error('a head was expected');
  await asOwner(`DELETE FROM audit_link WHERE sequence = ${head.sequence}`);
  await asOwner(`DELETE FROM audit_event WHERE target_label = 'three'`);
  expect(await verify()).toMatchObject({ whole: true });
  expect(await verify(head)).toMatchObject({ whole: false, broken: { sequence: head.sequence, reason: 'missing' } });
  await write('instead');
  expect(await verify()).toMatchObject({ whole: true });
  expect(await verify(head)).toMatchObject({ whole: false, broken: { sequence: head.sequence, reason: 'rewritten' } });
});

test('the log is found by actor, action, target and time, page by page', async () => {
  await write('one');
  world.clock.forward(60_000);
  const from = world.clock.now();
  await write('two');
  await write('three', 'app.delete');
  const labels = async (input: object) => (await list(input)).items.map(({ target }) => target.label);
  expect(await labels({ action: 'app' })).toEqual(['three', 'two', 'one']);
  expect(await labels({ action: 'app.delete' })).toEqual(['three']);
  expect(await labels({ action: 'ap' })).toEqual([]);
  expect(await labels({ targetId: 'app_two' })).toEqual(['two']);
  expect(await labels({ from })).toEqual(['three', 'two']);
  expect(await labels({ action: 'app', to: from })).toEqual(['one']);
  expect(await labels({ search: 'T' })).toEqual(['three', 'two']);
  const [event] = (await list({ search: 'one' })).items;
  expect(event).toMatchObject({
    actor: { kind: 'member', name: 'Owner of acme' },
    before: { name: 'old', command: ['a', 'b'] },
    after: { name: 'one', port: 80, on: true, none: null },
  });
  expect(await labels({ actorId: event?.actor.id, action: 'app' })).toHaveLength(3);
  expect(await labels({ actorKind: 'system', action: 'app' })).toEqual([]);
  const first = await list({ limit: 2, action: 'app' });
  expect(await labels({ limit: 2, action: 'app', cursor: first.nextCursor })).toEqual(['one']);
  expect(await labels({ cursor: "1' OR true" })).toEqual([]);
});

test('a search finds names of actors, and a list counts what matches', async () => {
  for (const label of ['one', 'two', 'three']) await write(label);
  expect((await list({ search: 'owner OF', action: 'app' })).items).toHaveLength(3);
  expect(await list({ search: 't', action: 'app', limit: 1 })).toMatchObject({ total: 2, items: [{}] });
  const first = await list({ action: 'app', limit: 1 });
  expect([first.total, (await list({ action: 'app', limit: 1, cursor: first.nextCursor })).total]).toEqual([3, null]);
  expect((await list({ search: 'nothing' })).total).toBe(0);
  const [found] = (await list({ search: 'two', action: 'app' })).items;
  expect((await list({ search: found?.target.id ?? '', action: 'app' })).items).toContainEqual(found);
});

test('events name the things that they refer to by id, while those exist', async () => {
  const { appId } = await world.createApp('Shop');
  const [event] = (await list({ action: 'deployment.create' })).items;
  const environmentId = String(event?.after?.environmentId);
  expect(event?.names).toEqual({ [appId]: 'Shop', [environmentId]: 'Production' });
  const rival = await testWorld(db.database, 'rival');
  await rival.tenant((ctx) =>
    recordAudit(ctx, { action: 'app.update', target: { kind: 'app', id: appId, label: 'Shop' }, after: { appId } }),
  );
  const [theirs] = (await rival.tenant((ctx) => listAudit(ctx, { limit: 1 }))).items;
  expect(theirs?.names).toEqual({});
});

/** Enough rows that the planner distinguishes indexes. */
async function writeMany(): Promise<void> {
  await world.tenant(
    ({ tx, organizationId }) =>
      tx.$executeRaw`
      INSERT INTO audit_event (id, organization_id, at, actor_kind, actor_id, actor_user_id, action, target_kind, target_id, target_label)
      SELECT 'aud_many' || n, ${organizationId}, timestamptz '2020-01-01' + n * interval '1 hour', 'member', 'usr_' || n, 'usr_' || n,
             'many.' || n, 'app', 'app_' || n, 'many'
      FROM generate_series(1, 1000) AS n`,
  );
  await db.asOwner('ANALYZE audit_event');
}

test('each filter has an index under row-level security', async () => {
  await writeMany();
  const indexes = [
    ["starts_with(action, 'app.')", 'audit_event_organization_id_action_idx'],
    ["actor_id = 'usr_1'", 'audit_event_organization_id_actor_id_idx'],
    ["actor_user_id = 'usr_1'", 'audit_event_organization_id_actor_user_id_idx'],
    ["target_id = 'app_1'", 'audit_event_organization_id_target_id_idx'],
    ["at >= '2020-01-05' AND at < '2020-01-06'", 'audit_event_organization_id_at_id_idx'],
  ] as const;
  for (const [condition, index] of indexes) {
    const plan = await world.tenant(({ tx, organizationId }) =>
      tx.$queryRawUnsafe<{ 'QUERY PLAN': string }[]>(
        `EXPLAIN SELECT id, action FROM audit_event WHERE organization_id = $1 AND ${condition}`,
        organizationId,
      ),
    );
    expect(plan.map((line) => line['QUERY PLAN']).join('\n'), condition).toContain(index);
  }
});

test('another organization neither sees the log nor moves its chain', async () => {
  await write('mine');
  const other = await testWorld(db.database, 'rival');
  await other.createApp('Theirs');
  const theirs = await other.tenant((ctx) => listAudit(ctx, { limit: 50 }));
  expect(theirs.items.map(({ target }) => target.label)).not.toContain('mine');
  expect(theirs.items.at(-1)?.sequence).toBe(1);
  expect(await verify()).toMatchObject({ whole: true });
});

test('the export holds every event of the filter, oldest first, as NDJSON and as CSV', async () => {
  for (let index = 0; index < 3; index++) await write(index === 1 ? '=cmd("x"), \n' : `app ${index}`);
  const collect = async (format: 'ndjson' | 'csv') => {
    let text = '';
    for await (const part of exportAudit((read) => world.tenant(read), { action: 'app' }, format)) text += part;
    return text;
  };
  const lines = (await collect('ndjson'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ target }) => target.label)).toEqual(['app 0', '=cmd("x"), \n', 'app 2']);
  const csv = await collect('csv');
  expect(csv.startsWith('sequence,at,actor_kind,')).toBe(true);
  expect(csv).toContain(`"'=cmd(""x""), \n"`);
});

test('a cell cannot end its row nor run as a formula', () => {
  expect(csvCell('plain')).toBe('plain');
  expect(csvCell('a,"b"')).toBe('"a,""b"""');
  expect(csvCell('@SUM(A1)')).toBe("'@SUM(A1)");
});

test('a change of settings records only changed fields', () => {
  expect(changedFields({ name: 'a', port: 1, list: ['x'] }, { name: 'b', port: undefined, list: ['x'] })).toEqual({
    before: { name: 'a' },
    after: { name: 'b' },
  });
});
