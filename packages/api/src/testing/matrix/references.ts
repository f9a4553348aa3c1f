// Check of calls with references to two environments of one organization. A person with the permission in one environment must
// not reach a row of another by naming both.
import { newId } from '@fairlead/contract/ids';
import type { AnyRouter } from '@trpc/server';
import type { ApiParts } from '../../context.ts';
import type { TestApi } from '../test-api.ts';
import { callProcedure } from './call.ts';
import { type DeclaredProcedure, declaredProcedures, isOfMembers } from './declared.ts';
import { byReferences, type IdPool, type Sample, unknownOf, withValueAt } from './sample.ts';
import type { Person, Stage } from './stage.ts';
import { undoing } from './undo.ts';

export interface MatrixPart {
  readonly api: TestApi;
  readonly stage: Stage;
  readonly router: AnyRouter;
  readonly parts: ApiParts;
  samplesFor(procedure: DeclaredProcedure): Sample[];
}

export interface ReferencesReport {
  readonly calls: number;
  readonly leaks: readonly string[];
  /** Procedures that take such a reference from an owner, which shows that the calls were valid. */
  readonly crossing: readonly string[];
}

export async function checkReferences({
  api,
  stage,
  router,
  parts,
  samplesFor,
}: MatrixPart): Promise<ReferencesReport> {
  const undone: ApiParts = { ...parts, database: undoing(parts.database) };
  const pools = await insertBeside(api, stage);
  const [leaks, crossing] = [[] as string[], new Set<string>()];
  let calls = 0;
  const outcomeOf = async (procedure: DeclaredProcedure, person: Person, input: unknown): Promise<string> => {
    calls += 1;
    return (await callProcedure({ parts: undone, router, live: api.live }, procedure, person, input)).outcome;
  };
  const owner = stage.roles.find(({ role }) => role === 'owner');
  if (owner === undefined) throw new TypeError('there is no owner on the stage');

  for (const procedure of declaredProcedures(router)) {
    const { access, grain, lists, type } = procedure;
    if (!isOfMembers(access) || grain !== 'environment' || lists === true || type === 'subscription') continue;
    await stage.setGrant([access], 'environment');
    for (const { value, ids } of byReferences(samplesFor(procedure))) {
      for (const { path, kind } of ids) {
        const unknown = withValueAt(value, path, unknownOf(kind));
        for (const beside of pools.flatMap((pool) => pool.get(kind) ?? [])) {
          const input = withValueAt(value, path, beside);
          const outcome = await outcomeOf(procedure, stage.granted, input);
          if (ids.length > 1 && !crossing.has(procedure.path)) {
            const asOwner = await outcomeOf(procedure, owner, input);
            if (asOwner !== (await outcomeOf(procedure, owner, unknown))) crossing.add(procedure.path);
          }
          if (outcome === 'permission.denied') continue;
          if (outcome === (await outcomeOf(procedure, stage.granted, unknown))) continue;
          leaks.push(
            `${procedure.path} with a grant on one environment answered ${outcome} to ${path.join('.')} of another one`,
          );
        }
      }
    }
  }
  return { calls, leaks, crossing: [...crossing].sort() };
}

/** Rows of a second environment of the same project: of an app that runs only there, and of the stage's own app. */
async function insertBeside({ world }: TestApi, stage: Stage): Promise<IdPool[]> {
  const organizationId = stage.ownId;
  const [projectId, serverId] = [stage.own.get('prj') ?? '', stage.own.get('srv') ?? ''];
  const [environmentId, otherId] = [newId('env'), newId('app')];
  // The stage's own environment is older, so it stays the first.
  const createdAt = new Date(Date.now() + 60_000);
  await world.system(async ({ tx }) => {
    await tx.environment.create({
      data: { id: environmentId, organizationId, projectId, name: 'Beside', slug: 'beside', createdAt },
    });
    const repositoryUrl = 'https://git.example.test/beside.git';
    await tx.app.create({
      data: { id: otherId, organizationId, projectId, name: 'Beside', slug: 'beside', repositoryUrl, command: [] },
    });
  });
  const pools: IdPool[] = [];
  for (const [at, appId] of [otherId, stage.own.get('app') ?? ''].entries()) {
    const placed = { organizationId, appId, environmentId };
    const ids = {
      ...{ bpl: newId('bpl'), dep: newId('dep'), dom: newId('dom'), rel: newId('rel'), run: newId('run') },
      sec: newId('sec'),
    };
    await world.system(async ({ tx }) => {
      const { id: _id, ...release } = await tx.release.findFirstOrThrow({ where: { organizationId } });
      const copied = { plan: release.plan ?? {}, origin: release.origin ?? {} };
      await tx.release.create({ data: { ...release, ...placed, ...copied, id: ids.rel, number: 100 } });
      const servers = { create: { serverId, position: 0, liveReleaseId: ids.rel } };
      const isPrimary = appId === otherId;
      await tx.placement.create({ data: { ...placed, id: newId('plc'), branch: 'main', isPrimary, servers } });
      await tx.deployment.create({
        data: {
          ...placed,
          id: ids.dep,
          number: 100,
          trigger: 'manual',
          state: 'live',
          ref: 'main',
          releaseId: ids.rel,
        },
      });
      await tx.domain.create({ data: { ...placed, id: ids.dom, host: `beside${at}.example.test` } });
      await tx.benchmarkRun.create({
        data: { ...placed, id: ids.run, serverId, state: 'succeeded', plan: { host: 'beside.example.test' } },
      });
      await tx.benchmarkPlan.create({ data: { ...placed, id: ids.bpl, name: `Beside ${at}`, plan: {} } });
      await tx.secret.create({ data: { ...placed, id: ids.sec, name: 'BESIDE', number: 1 } });
    });
    pools.push(
      new Map([...Object.entries({ ...ids, env: environmentId }), ...(at === 0 ? [['app', otherId]] : [])] as [
        string,
        string,
      ][]),
    );
  }
  return pools;
}
