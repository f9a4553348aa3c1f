// Paths to what needs attention: of one entry, and of the list that shows a whole group. Pure.
import type { AttentionGroup } from '../../api/types.ts';
import { type AttentionInput, attentionQuery } from '../../common/attention/attention-input.ts';
import type { Paths } from '../../common/organization/paths.ts';

type Kind = AttentionGroup['kind'];

const LIST: Readonly<Record<Kind, 'deployments' | 'apps' | 'servers' | 'certificates' | null>> = {
  server_offline: 'servers',
  app_unhealthy: 'apps',
  approval: 'deployments',
  deployment_failed: 'deployments',
  deployment_stuck: 'deployments',
  disk_short: 'servers',
  certificate: 'certificates',
  server_refused: 'servers',
  clock_offset: 'servers',
  // No page lists the secrets of all apps.
  secret_expiring: null,
};

/** Returns the list of exactly what the group counts; null if there is no such list. */
export function hrefOfGroup(
  paths: Paths,
  group: { readonly kind: Kind; readonly cause?: string; readonly projectId: AttentionInput['projectId'] },
): string | null {
  const list = LIST[group.kind];
  if (list === null) return null;
  const { kind, cause = '' } = group;
  // The overview of a project shows all servers, while a project filters the list of servers.
  const projectId = list === 'servers' ? undefined : group.projectId;
  const input = { kind, ...(cause === '' ? {} : { cause }), ...(projectId === undefined ? {} : { projectId }) };
  return `${paths[list]}?${attentionQuery(input)}`;
}

type Item = AttentionGroup['causes'][number]['items'][number];

export function hrefOfItem(
  paths: Paths,
  item: Pick<Item, 'appSlug' | 'environmentId' | 'deploymentId' | 'serverId' | 'certificateId' | 'secretScope'>,
): string {
  if (item.deploymentId !== null) return paths.deployment(item.deploymentId);
  if (item.serverId !== null) return paths.server(item.serverId);
  if (item.certificateId !== null) return paths.certificate(item.certificateId);
  const environmentId = item.environmentId ?? undefined;
  if (item.secretScope === 'group' || item.appSlug === null) return paths.sharedSecrets;
  return item.secretScope === 'app'
    ? paths.appVariables(item.appSlug, environmentId)
    : paths.app(item.appSlug, environmentId);
}
