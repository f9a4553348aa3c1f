// Converts an app's traffic settings to the agent's message. Pure.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type AppTraffic, AppTrafficSchema, LoadBalancing, UpstreamProtocol } from '@fairlead/contract/traffic';
import { type AppTrafficSettings, appTrafficSchema } from './schema.ts';

const plain = JSON.stringify(appTrafficSchema.parse({}));

const upstreamProtocols = { http1: UpstreamProtocol.HTTP1, http2: UpstreamProtocol.HTTP2 } as const;

const loadBalancings = {
  least_loaded: LoadBalancing.LEAST_LOADED,
  round_robin: LoadBalancing.ROUND_ROBIN,
} as const;

/** Null for the defaults, which every agent applies without a message. */
export function appTraffic(settings: AppTrafficSettings): AppTraffic | null {
  if (JSON.stringify(appTrafficSchema.parse(settings)) === plain) return null;
  const { stickySessions, outlierEjection, healthCheck } = settings;
  return create(AppTrafficSchema, {
    upstreamProtocol: upstreamProtocols[settings.upstreamProtocol],
    loadBalancing: loadBalancings[settings.loadBalancing],
    ...(stickySessions === null ? {} : { stickySessions: { by: stickinessOf(stickySessions) } }),
    slowStartMs: settings.slowStartMs,
    connectionsPerInstance: settings.connectionsPerInstance,
    inFlightPerInstance: settings.inFlightPerInstance,
    inFlightPerApp: settings.inFlightPerApp,
    queueLengthMax: settings.queueLengthMax,
    queueTimeoutMs: settings.queueTimeoutMs,
    responseTimeoutMs: settings.responseTimeoutMs,
    loadShedding: settings.loadShedding,
    retryBudgetPercent: settings.retryBudgetPercent,
    outlierEjection,
    ...(healthCheck === null ? {} : { healthCheck }),
  } satisfies MessageInitShape<typeof AppTrafficSchema>);
}

function stickinessOf(sticky: NonNullable<AppTrafficSettings['stickySessions']>) {
  return sticky.kind === 'cookie'
    ? { case: 'cookie' as const, value: sticky.name }
    : { case: 'clientAddress' as const, value: true };
}
