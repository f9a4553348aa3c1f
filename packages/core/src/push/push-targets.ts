// Finds the apps that a push concerns, with their rules in each environment where they run.
import { type AppId, type EnvironmentId, parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';
import { fromScpForm } from '../source/index.ts';
import type { PushRules } from './decide-push.ts';
import { headRef, type PushEvent } from './push-event.ts';

export interface PushTarget {
  readonly appId: AppId;
  readonly environmentId: EnvironmentId;
  readonly rules: PushRules;
  /** Checks at GitHub that must pass first. */
  readonly requiredChecks: readonly string[];
  readonly checksTimeoutMinutes: number;
  /**
   * Person who may not approve the deployment: the creator of the webhook, or the member who pushed with a linked GitHub
   * account. Null: no member.
   */
  readonly requestedByUserId: string | null;
}

interface TargetRow {
  readonly requestedByUserId: string | null;
  readonly appId: string;
  readonly environmentId: string;
  readonly branch: string;
  readonly tagPattern: string;
  readonly watchPaths: readonly string[];
  readonly isPaused: boolean;
  readonly requiredChecks: readonly string[];
  readonly checksTimeoutMinutes: number;
}

export interface PushOrigin {
  readonly source: 'github' | 'app';
  readonly endpointId: string;
}

/** In the order of app ids, in which apps are locked. */
export async function listPushTargets(
  ctx: OrganizationCtx,
  origin: PushOrigin,
  event: PushEvent,
): Promise<PushTarget[]> {
  const rows = await ctx.tx.$queryRaw<TargetRow[]>`
    SELECT placement.app_id AS "appId", placement.environment_id AS "environmentId", placement.branch,
           placement.tag_pattern AS "tagPattern", placement.watch_paths AS "watchPaths",
           placement.deploys_paused_at IS NOT NULL AS "isPaused",
           CASE WHEN EXISTS (SELECT 1 FROM app_repository WHERE app_repository.app_id = app.id)
             THEN placement.required_checks ELSE '{}' END AS "requiredChecks",
           placement.checks_timeout_minutes AS "checksTimeoutMinutes",
           ${requesterOf(origin, event)} AS "requestedByUserId"
    FROM placement JOIN app ON app.id = placement.app_id
    JOIN environment ON environment.id = placement.environment_id AND environment.kind = 'standard'
    WHERE placement.organization_id = ${ctx.organizationId} AND ${ofOrigin(origin, event)}
      AND EXISTS (SELECT 1 FROM placement_server WHERE placement_server.placement_id = placement.id)
    ORDER BY placement.app_id, placement.environment_id`;
  return rows.map(({ appId, environmentId, branch, tagPattern, watchPaths, isPaused, ...row }) => ({
    ...row,
    appId: parseId('app', appId),
    environmentId: parseId('env', environmentId),
    rules: { branch, tagPattern, watchPaths, isPaused },
  }));
}

/** GitHub Apps at one host share the ids of people, so a link by any of them names the person. */
function requesterOf({ source, endpointId }: PushOrigin, { senderId }: PushEvent): Prisma.Sql {
  if (source === 'app') return Prisma.sql`(SELECT created_by_user_id FROM app_webhook WHERE id = ${endpointId})`;
  return Prisma.sql`(
    SELECT github_account.user_id FROM github_account
    JOIN github_app ON github_app.id = github_account.github_app_id
    WHERE github_account.github_user_id = ${senderId === null ? null : BigInt(senderId)}
      AND github_app.base_url = (SELECT base_url FROM github_app WHERE id = ${endpointId})
    ORDER BY github_app.id = ${endpointId} DESC, github_account.id LIMIT 1)`;
}

/** Apps linked to the repository, and apps with its address and no link. A webhook of an app concerns that app only. */
function ofOrigin({ source, endpointId }: PushOrigin, event: PushEvent): Prisma.Sql {
  if (source === 'app') {
    const ownApp = Prisma.sql`app.id = (SELECT app_id FROM app_webhook WHERE id = ${endpointId})`;
    // A request that names no branch would deploy every environment.
    return event.ref === headRef ? Prisma.sql`${ownApp} AND placement.is_primary` : ownApp;
  }
  const urls = event.repository.urls.map((url) => withoutSuffix(fromScpForm(url)));
  return Prisma.sql`CASE WHEN EXISTS (SELECT 1 FROM app_repository WHERE app_repository.app_id = app.id)
    THEN EXISTS (
      SELECT 1 FROM app_repository JOIN github_installation ON github_installation.id = app_repository.installation_id
      WHERE app_repository.app_id = app.id AND app_repository.repository_id = ${BigInt(event.repository.id ?? 0)}
        AND github_installation.github_app_id = ${endpointId})
    ELSE lower(regexp_replace(app.repository_url, '(\\.git)?/*$', '')) = ANY(${urls}) END`;
}

function withoutSuffix(url: string): string {
  return url.replace(/(?:\.git)?\/*$/, '').toLowerCase();
}
