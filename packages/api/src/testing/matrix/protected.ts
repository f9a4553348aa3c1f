// Check of every mutation against a protected environment, by people who may do everything there except approve. What visitors
// get must not change, and each procedure must answer as it declares.
import { permissionSchema } from '@fairlead/core/role';
import type { TenantTx } from '@fairlead/db';
import { callProcedure } from './call.ts';
import { type DeclaredProcedure, declaredProcedures, isOfMembers } from './declared.ts';
import type { MatrixPart } from './references.ts';
import type { Person } from './stage.ts';
import { undoing } from './undo.ts';

export interface ProtectedReport {
  readonly calls: number;
  readonly leaks: readonly string[];
  /** Mutations that changed what visitors get while the environment was open: the same calls without the protection. */
  readonly effective: readonly string[];
}

/** Apps with visitors in the environment: an app that was never deployed has none. */
const served = `SELECT placement.app_id FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
  WHERE placement.environment_id = $1 AND placement_server.live_release_id IS NOT NULL`;
/** Rows that decide what visitors of an environment get, now or with its next deployment. */
const deciding: Readonly<Record<string, string>> = {
  environment: 'r.id = $1',
  placement: `r.environment_id = $1 AND r.app_id IN (${served})`,
  placement_server: `r.placement_id IN (SELECT id FROM placement WHERE environment_id = $1 AND app_id IN (${served}))`,
  instance: 'r.environment_id = $1',
  app_config: `r.environment_id = $1 AND r.app_id IN (${served})`,
  volume: 'r.environment_id = $1',
  domain: 'r.environment_id = $1 OR r.host IN (SELECT host FROM domain WHERE environment_id = $1)',
  secret: `r.environment_id = $1 OR r.group_id IN (SELECT group_id FROM secret_group_app WHERE app_id IN (${served}))`,
  secret_group_app: `r.app_id IN (${served})`,
  source_credential: `r.app_id IN (${served})`,
  app_webhook: `r.app_id IN (${served})`,
  server: `r.id IN (SELECT placement_server.server_id FROM placement_server
    JOIN placement ON placement.id = placement_server.placement_id WHERE placement.environment_id = $1)`,
  deployment: `r.environment_id = $1
    AND NOT EXISTS (SELECT 1 FROM deployment_approval WHERE deployment_id = r.id AND state = 'pending')`,
  benchmark_run: `r.environment_id = $1 AND r.state IN ('queued', 'running')`,
};
/** Only members see an app's name. */
const source = `SELECT 'app:' || coalesce(md5(string_agg(concat_ws('|', r.id, r.repository_url, r.root_folder, r.health_path,
  array_to_string(r.command, ' ')), '|' ORDER BY r.id)), '') AS digest FROM app AS r WHERE r.id IN (${served})`;

export async function checkProtected({ api, stage, router, parts, samplesFor }: MatrixPart): Promise<ProtectedReport> {
  const { world } = api;
  const environmentId = stage.own.get('env') ?? '';
  const [leaks, effective] = [[] as string[], new Set<string>()];
  let calls = 0;
  const protect = (on: boolean) =>
    world.system(({ tx }) => tx.environment.update({ where: { id: environmentId }, data: { protected: on } }));
  // The stage's deployment runs; its author may cancel one that waits.
  await world.system(({ tx }) => tx.deploymentApproval.deleteMany({ where: { organizationId: stage.ownId } }));
  await stage.setCustom(permissionSchema.options.filter((each) => each !== 'deployment.approve'));
  const developer = stage.roles.find(({ role }) => role === 'developer');
  if (developer === undefined) throw new TypeError('there is no developer on the stage');
  const people = [{ ...stage.custom, name: 'a role of all but deployment.approve' }, developer];

  const fingerprint = async (tx: TenantTx): Promise<string> => {
    const digests = Object.entries(deciding).map(
      ([name, where]) => `SELECT '${name}:' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') AS digest
        FROM "${name}" AS r WHERE ${where}`,
    );
    const rows = await tx.$queryRawUnsafe<{ digest: string }[]>(
      `SELECT digest FROM (${[...digests, source].join(' UNION ALL ')}) AS each ORDER BY digest`,
      environmentId,
    );
    return rows.map(({ digest }) => digest).join(' ');
  };
  const attempt = async (procedure: DeclaredProcedure, person: Person, input: unknown, before: string) => {
    calls += 1;
    let after = before;
    const database = undoing(parts.database, async (tx) => {
      after = await fingerprint(tx);
    });
    const { outcome } = await callProcedure(
      { parts: { ...parts, database }, router, live: api.live },
      procedure,
      person,
      input,
    );
    return { outcome, changed: after !== before };
  };
  const look = () => parts.database.tenant(stage.ownId, fingerprint);

  for (const procedure of declaredProcedures(router)) {
    const { path, protection, type, access } = procedure;
    if (type !== 'mutation' || !isOfMembers(access)) continue;
    if (protection === undefined) {
      leaks.push(`${path} does not declare how a protected environment is safe from it`);
      continue;
    }
    const samples = samplesFor(procedure);
    await protect(true);
    const before = await look();
    for (const person of people) {
      const outcomes: string[] = [];
      for (const { value } of samples) {
        const { outcome, changed } = await attempt(procedure, person, value, before);
        outcomes.push(outcome);
        if (changed) leaks.push(`${path} as ${person.name} changed what visitors of a protected environment get`);
        if (outcome === 'internal.unexpected') leaks.push(`${path} as ${person.name} failed unexpectedly`);
      }
      // Some inputs reach no protected environment; an input that does must be refused for that reason.
      const isRefused = outcomes.some((each) => each === 'environment.protected');
      const mayTry = outcomes.some((each) => each !== 'permission.denied');
      if (mayTry && isRefused !== (protection.kind === 'approver')) {
        leaks.push(`${path} as ${person.name} is declared ${protection.kind} and answered ${outcomes.join(', ')}`);
      }
    }
    await protect(false);
    const open = await look();
    for (const { value } of samples) {
      const { outcome, changed } = await attempt(procedure, people[0] ?? developer, value, open);
      if (outcome === 'environment.protected')
        leaks.push(`${path} is refused for an environment that is not protected`);
      if (changed) effective.add(path);
    }
  }
  return { calls, leaks, effective: [...effective].sort() };
}
