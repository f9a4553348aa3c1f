// Checks that an app's servers support its settings; returns the failure that the deployment would end with.
// Invariant: an agent never gets messages that need a capability it lacks; the deployment is refused with a sentence.

import { type Capability, supports } from '@fairlead/contract/capabilities';
import { listensOnSocket, loadSettings, type Settings } from '../config/index.ts';
import { missingBuildCapability, missingCapability, missingCapabilityMessage } from '../desired-state/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { Placement, PlacementServer } from '../placement/index.ts';
import { releasePlanSchema } from '../release/index.ts';
import { buildSourceOf, credentialsFor, hostOf, kindOf } from '../source/index.ts';
import { checkSecrets } from './check-secrets.ts';
import type { Failure } from './machine.ts';
import type { DeploymentRow } from './store.ts';

interface ServerRow {
  readonly id: string;
  readonly name: string;
  readonly capabilities: string[];
}

export interface BuildCheck {
  readonly row: Pick<DeploymentRow, 'appId' | 'ref' | 'uploadDigest'>;
  readonly settings: Settings;
  readonly placement: Placement;
  readonly buildServerId: string;
  /** Its secrets, when some are marked for builds. */
  readonly buildSnapshotId: string | null;
}

export async function checkBuild(ctx: OrganizationCtx, check: BuildCheck): Promise<Failure | null> {
  const { row, settings, placement, buildServerId, buildSnapshotId } = check;
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirstOrThrow({
    where: { id: row.appId, organizationId },
    select: { repositoryUrl: true, credentials: { select: { kind: true, host: true, expiresAt: true } } },
  });
  const [builder] = await loadServers(ctx, [buildServerId]);
  if (builder === undefined) return { code: 'server.not_found', message: null };
  // An agent refuses its whole state for a build without a source.
  if (app.repositoryUrl === '' && row.uploadDigest === null && settings.builder !== 'image') {
    return { code: 'deployment.no_source', message: null };
  }
  const missing = missingBuildCapability(settings, builder.capabilities, {
    ref: row.ref,
    uploadDigest: row.uploadDigest,
    isSsh: app.repositoryUrl.startsWith('ssh:'),
    hasCredentials: app.credentials.length > 0,
    hasSecrets: buildSnapshotId !== null,
  });
  if (missing !== null) return lacks(builder, missing);
  const source = buildSourceOf({ settings, repositoryUrl: app.repositoryUrl, uploadDigest: row.uploadDigest });
  const stored = app.credentials.find(({ kind }) => kind === kindOf(source));
  const fits = credentialsFor(app.credentials, source, ctx.clock.now()).length > 0;
  if (stored !== undefined && !fits) return otherHost(stored.host, hostOf(source));
  const unopened = await checkSecrets(ctx, [{ serverId: buildServerId }], buildSnapshotId);
  if (unopened !== null) return unopened;
  const elsewhere = placement.servers.some(({ serverId }) => serverId !== buildServerId);
  if (elsewhere && !supports(builder.capabilities, 'transfer')) return lacks(builder, 'transfer');
  return checkTargets(ctx, settings, placement, buildServerId, {
    container: false,
    socket: settings.listen === 'socket',
  });
}

/** Checks a release before its rollout: its settings, its secrets, and that every server can reach its artifact. */
export async function checkRollout(
  ctx: OrganizationCtx,
  { releaseId, placement }: { readonly releaseId: string; readonly placement: Placement },
): Promise<Failure | null> {
  const { tx, organizationId } = ctx;
  const release = await tx.release.findFirstOrThrow({
    where: { id: releaseId, organizationId },
    select: {
      configId: true,
      secretSnapshotId: true,
      builtOnServerId: true,
      artifactDigest: true,
      artifactKind: true,
      plan: true,
    },
  });
  const { builtOnServerId, artifactDigest: digest } = release;
  const lacksIt = (server: PlacementServer) =>
    server.serverId !== builtOnServerId && server.liveReleaseId !== releaseId;
  const elsewhere = placement.servers.filter(lacksIt);
  if (elsewhere.length > 0 && (await tx.artifact.count({ where: { organizationId, digest } })) === 0) {
    return { code: 'deployment.artifact_elsewhere', message: null };
  }
  // Marks the artifact as needed, so that it is not pruned during the rollout.
  await tx.artifact.updateMany({ where: { organizationId, digest }, data: { unneededSince: null } });
  const settings = await loadSettings(ctx, release.configId);
  const isImage = release.artifactKind === 'image';
  const onSocket = listensOnSocket(settings, releasePlanSchema.parse(release.plan));
  if (isImage && onSocket) return { code: 'deployment.socket_in_container', message: null };
  const needs = { container: isImage, socket: onSocket };
  const failure = await checkTargets(ctx, settings, placement, builtOnServerId, needs);
  return failure ?? (await checkSecrets(ctx, placement.servers, release.secretSnapshotId));
}

async function checkTargets(
  ctx: OrganizationCtx,
  settings: Settings,
  placement: Placement,
  artifactServerId: string,
  needs: Readonly<Record<'container' | 'socket', boolean>>,
): Promise<Failure | null> {
  const servers = await loadServers(
    ctx,
    placement.servers.map(({ serverId }) => serverId),
  );
  for (const server of servers) {
    const missing = missingCapability(settings, server.capabilities);
    if (missing !== null) return lacks(server, missing);
    for (const need of ['container', 'socket'] as const) {
      if (needs[need] && !supports(server.capabilities, need)) return lacks(server, need);
    }
    if (server.id !== artifactServerId && !supports(server.capabilities, 'transfer')) return lacks(server, 'transfer');
  }
  return null;
}

function loadServers(ctx: OrganizationCtx, ids: readonly string[]): Promise<ServerRow[]> {
  return ctx.tx.server.findMany({
    where: { id: { in: [...ids] }, organizationId: ctx.organizationId },
    select: { id: true, name: true, capabilities: true },
    orderBy: { name: 'asc' },
  });
}

/** Names both hosts, because the user who enters the password again decides on the new one. */
function otherHost(host: string, current: string | null): Failure {
  const now = current ?? 'no host';
  const whose =
    host === ''
      ? `The password of the source has no known host, and the source is now at ${now}`
      : `The password of the source was entered for ${host}, but the source is now at ${now}`;
  return {
    code: 'credential.other_host',
    message: `${whose}, so it was not sent. Check that the address of the source is right. Then enter the password for ${now}, or remove it, in the settings of the app, and deploy again.`,
  };
}

function lacks(server: ServerRow, capability: Capability): Failure {
  return { code: 'deployment.capability_missing', message: missingCapabilityMessage(server.name, capability) };
}
