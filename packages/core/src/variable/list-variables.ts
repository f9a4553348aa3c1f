// Lists the plain variables of an app in an environment: their values, last changes, and what is not deployed yet.
import { parseId } from '@fairlead/contract/ids';
import { findNewestConfig, loadSettings, type Settings } from '../config/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { type PlacementInput, requirePlacement } from '../placement/index.ts';
import type { VariableList } from './schema.ts';

export async function listVariables(ctx: Ctx, input: PlacementInput): Promise<VariableList> {
  const placement = await requirePlacement(ctx, input);
  const { appId, environmentId, liveReleaseId } = placement;
  const { settings } = await findNewestConfig(ctx, placement);
  const live = await findLive(ctx, liveReleaseId);
  const changes = new Map((await loadChanges(ctx, { appId, environmentId })).map((row) => [row.name, row]));
  const names = Object.keys(settings.variables).sort();
  return {
    variables: names.flatMap((name) => {
      const variable = settings.variables[name];
      const change = changes.get(name);
      if (variable === undefined || change === undefined) return [];
      const { updatedAt, authorName } = change;
      return [{ name, ...variable, updatedAt, authorName, pending: pendingOf(name, settings, live?.settings) }];
    }),
    removed:
      live === null
        ? []
        : Object.keys(live.settings.variables)
            .filter((name) => !Object.hasOwn(settings.variables, name))
            .sort(),
    liveDeploymentId: live?.deploymentId ?? null,
  };
}

type Variables = Pick<Settings, 'variables'>;

function pendingOf(name: string, { variables }: Variables, live: Variables | undefined): 'added' | 'changed' | null {
  if (live === undefined) return null;
  const [is, was] = [variables[name], live.variables[name]];
  if (was === undefined) return 'added';
  return is?.value === was.value && is.scope === was.scope ? null : 'changed';
}

async function findLive(ctx: Ctx, liveReleaseId: string | null) {
  if (liveReleaseId === null) return null;
  const { organizationId } = ctx;
  const release = await ctx.tx.release.findFirstOrThrow({
    where: { id: liveReleaseId, organizationId },
    select: { configId: true },
  });
  const deployment = await ctx.tx.deployment.findFirst({
    where: { releaseId: liveReleaseId, organizationId },
    select: { id: true },
    orderBy: { queuedAt: 'desc' },
  });
  return {
    settings: await loadSettings(ctx, release.configId),
    deploymentId: deployment === null ? null : parseId('dep', deployment.id),
  };
}

interface ChangeRow {
  readonly name: string;
  readonly updatedAt: Date;
  readonly authorName: string | null;
}

/**
 * Returns the version since which each variable of the newest settings has its value and scope. Former versions stored
 * a plain text, which has both scopes.
 */
function loadChanges(
  { tx, organizationId }: Ctx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<ChangeRow[]> {
  return tx.$queryRaw<ChangeRow[]>`
    WITH stored AS MATERIALIZED (
      SELECT config.number, config.created_at, config.author_user_id, variable.key AS name,
        CASE jsonb_typeof(variable.value)
          WHEN 'string' THEN jsonb_build_object('value', variable.value, 'scope', 'both')
          ELSE variable.value
        END AS value
      FROM app_config AS config
      CROSS JOIN LATERAL jsonb_each(coalesce(config.settings->'variables', '{}'::jsonb)) AS variable
      WHERE config.organization_id = ${organizationId} AND config.app_id = ${appId}
        AND config.environment_id = ${environmentId}
    ),
    runs AS (
      SELECT *, lag(number) OVER names AS former, lag(value) OVER names AS former_value FROM stored
      WINDOW names AS (PARTITION BY name ORDER BY number)
    ),
    changes AS (
      SELECT DISTINCT ON (name) name, created_at, author_user_id FROM runs
      WHERE former IS NULL OR former < number - 1 OR former_value IS DISTINCT FROM value
      ORDER BY name, number DESC
    )
    SELECT changes.name, changes.created_at AS "updatedAt", author.name AS "authorName"
    FROM changes LEFT JOIN "user" AS author ON author.id = changes.author_user_id`;
}
