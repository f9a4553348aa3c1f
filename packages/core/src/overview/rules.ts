// Selects what needs attention on the overview page, worst first, and describes it in sentences. Pure.
import type { ExpiringSecret } from '../secret/index.ts';
import type { ServerSummary } from '../server/index.ts';
import type { Attention } from './schema.ts';

const clockOffsetMaxMs = 2000;
const attentionMax = 8;

export interface FailedDeployment {
  readonly deploymentId: Attention['deploymentId'];
  readonly number: number;
  readonly appName: string;
  readonly appSlug: string;
  readonly failureMessage: string | null;
}

export interface UnhealthyApp {
  readonly appName: string;
  readonly appSlug: string;
  readonly environmentId: NonNullable<Attention['environmentId']>;
  readonly environmentName: string;
  readonly healthy: number;
  readonly wanted: number;
}

export interface AttentionFacts {
  readonly servers: readonly ServerSummary[];
  readonly failed: readonly FailedDeployment[];
  readonly unhealthy: readonly UnhealthyApp[];
  readonly expiring: readonly ExpiringSecret[];
  readonly now: Date;
}

export function attentionOf(facts: AttentionFacts): Attention[] {
  const none = { appSlug: null, environmentId: null, deploymentId: null, serverId: null };
  const offline = facts.servers
    .filter(({ state, appCount }) => state === 'offline' || (state === 'never_connected' && appCount > 0))
    .map(
      (server): Attention => ({
        ...none,
        kind: 'server_offline',
        title: `Server ${server.name} is not connected`,
        detail: 'Its apps go on serving, but it cannot deploy or report. Check that its agent runs.',
        serverId: server.id,
      }),
    );
  const unhealthy = facts.unhealthy.map(
    (app): Attention => ({
      ...none,
      kind: 'app_unhealthy',
      title: `${app.appName} is not healthy`,
      detail: `${app.healthy} of ${app.wanted} instances in ${app.environmentName} pass their health check. Its page shows what they said last.`,
      appSlug: app.appSlug,
      environmentId: app.environmentId,
    }),
  );
  const failed = facts.failed.map(
    (deployment): Attention => ({
      ...none,
      kind: 'deployment_failed',
      title: `Deployment ${deployment.number} of ${deployment.appName} failed`,
      detail: deployment.failureMessage ?? 'Its log says why.',
      appSlug: deployment.appSlug,
      deploymentId: deployment.deploymentId,
    }),
  );
  const refused = facts.servers.flatMap((server): Attention[] =>
    server.refusedReason === null
      ? []
      : [
          {
            ...none,
            kind: 'server_refused',
            title: `Server ${server.name} refuses its newest state`,
            detail: server.refusedReason,
            serverId: server.id,
          },
        ],
  );
  const clocks = facts.servers
    .filter(({ state, clockOffsetMs }) => state === 'online' && Math.abs(clockOffsetMs) > clockOffsetMaxMs)
    .map(
      (server): Attention => ({
        ...none,
        kind: 'clock_offset',
        title: `The clock of server ${server.name} is off`,
        detail: `It is ${(Math.abs(server.clockOffsetMs) / 1000).toFixed(1)} s ${server.clockOffsetMs > 0 ? 'ahead' : 'behind'}. Set up time synchronization there.`,
        serverId: server.id,
      }),
    );
  const expiring = facts.expiring.map(
    ({ name, ownerName, appSlug, expiresAt }): Attention => ({
      ...none,
      kind: 'secret_expiring',
      title: `${name} of ${ownerName} ${expiresAt > facts.now ? 'expires' : 'expired'} on ${expiresAt.toISOString().slice(0, 10)}`,
      detail: 'Replace it where it comes from, then write the new value down in its Secrets page.',
      appSlug,
    }),
  );
  return [...offline, ...unhealthy, ...failed, ...refused, ...clocks, ...expiring].slice(0, attentionMax);
}
