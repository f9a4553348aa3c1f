// Checks every procedure with the ids of a deleted app's rows: each answers as if they had never existed, apart from the
// list of deleted apps, the restore and the purge.
import { parseId } from '@fairlead/contract/ids';
import { deleteApp } from '@fairlead/core/app';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiRouter } from './router.ts';
import { emptyRepository, startTestApi, type TestApi } from './testing/index.ts';
import { callProcedure } from './testing/matrix/call.ts';
import { type DeclaredProcedure, declaredProcedures, isOfMembers } from './testing/matrix/declared.ts';
import { samplesFor } from './testing/matrix/examples.ts';
import { byReferences, type IdPlace, unknownOf, withValueAt } from './testing/matrix/sample.ts';
import { type Person, type Stage, setStage } from './testing/matrix/stage.ts';
import { undoing } from './testing/matrix/undo.ts';

/** Kinds of ids that name the app or one of its rows. */
const ofApp: ReadonlySet<string> = new Set(['app', 'slug', 'dep', 'rel', 'dom', 'run', 'sec', 'vol']);
const ofDeletedApps: ReadonlySet<string> = new Set(['app.listDeleted', 'app.restore', 'app.purge']);

let api: TestApi;
let stage: Stage;
let owner: Person;

beforeAll(async () => {
  api = await startTestApi();
  stage = await setStage(api);
  owner = stage.roles.find(({ role }) => role === 'owner') ?? stage.nobody;
});
afterAll(() => api.close());

interface Call {
  readonly procedure: DeclaredProcedure;
  readonly value: unknown;
  readonly places: readonly IdPlace[];
}

function callsOfMembers(): Call[] {
  return declaredProcedures(apiRouter)
    .filter(({ access, path }) => isOfMembers(access) && !ofDeletedApps.has(path))
    .flatMap((procedure) =>
      byReferences(samplesFor(procedure, stage.own)).map(({ value, ids }) => ({
        procedure,
        value,
        places: ids.filter(({ kind }) => ofApp.has(kind)),
      })),
    );
}

function send(procedure: DeclaredProcedure, input: unknown) {
  const parts = { ...api.parts, outbound: emptyRepository, database: undoing(api.parts.database) };
  return callProcedure({ parts, router: apiRouter, live: api.live }, procedure, owner, input);
}

/** Returns the calls that tell an id of the app from one that no row has. */
async function tellingApart(): Promise<string[]> {
  const told: string[] = [];
  for (const { procedure, value, places } of callsOfMembers()) {
    for (const { path, kind } of places) {
      const [existing, missing] = [
        await send(procedure, value),
        await send(procedure, withValueAt(value, path, unknownOf(kind))),
      ];
      if (existing.outcome !== missing.outcome) told.push(`${procedure.path} (${path.join('.')}): ${existing.outcome}`);
    }
  }
  return told;
}

test('no procedure tells a row of a deleted app from one that never existed, nor shows one', {
  timeout: 300_000,
}, async () => {
  expect((await tellingApart()).length).toBeGreaterThan(40);
  const { own, ownId } = stage;
  const organizationId = parseId('org', ownId);
  const actor = { kind: 'system', reason: 'test' } as const;
  await api.db.database.tenant(organizationId, (tx) =>
    deleteApp(
      { tx, organizationId, actor, clock: api.world.clock, log: api.parts.log },
      { appId: parseId('app', own.get('app') ?? ''), confirmName: 'Hello' },
    ),
  );
  expect(await tellingApart()).toEqual([]);

  const traces = ['app', 'dep', 'rel', 'dom', 'run', 'vol', 'deletedApp'].map((kind) => own.get(kind) ?? '');
  const shown: string[] = [];
  for (const { procedure, value, places } of callsOfMembers()) {
    // The audit log keeps what happened, also to apps that are gone.
    if (procedure.type !== 'query' || places.length > 0 || procedure.path.startsWith('audit.')) continue;
    const { text } = await send(procedure, value);
    shown.push(...traces.filter((trace) => text.includes(trace)).map((trace) => `${procedure.path} shows ${trace}`));
  }
  expect(shown).toEqual([]);
});
