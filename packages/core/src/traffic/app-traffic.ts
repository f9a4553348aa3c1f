// Converts an app's traffic settings to the agent's message. Pure.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type AppTraffic, AppTrafficSchema, Balance, Protocol } from '@fairlead/contract/traffic';
import { type AppTrafficSettings, appTrafficSchema } from './schema.ts';

const plain = JSON.stringify(appTrafficSchema.parse({}));

const protocols = { http1: Protocol.HTTP1, http2: Protocol.HTTP2 } as const;

const balances = { least_in_flight: Balance.LEAST_IN_FLIGHT, round_robin: Balance.ROUND_ROBIN } as const;

/** True for nothing but defaults, which every agent applies without a message. */
export function isPlainTraffic(settings: AppTrafficSettings): boolean {
  return JSON.stringify(appTrafficSchema.parse(settings)) === plain;
}

/** Null for the defaults, which every agent applies without a message. */
export function appTraffic(settings: AppTrafficSettings): AppTraffic | null {
  if (isPlainTraffic(settings)) return null;
  const { sticky, ejection, probe } = settings;
  return create(AppTrafficSchema, {
    protocol: protocols[settings.protocol],
    balance: balances[settings.balance],
    ...(sticky === null ? {} : { sticky: { by: stickyOf(sticky) } }),
    slowStartMs: settings.slowStartMs,
    connectionsPerInstance: settings.connectionsPerInstance,
    inFlightPerInstance: settings.inFlightPerInstance,
    inFlightMax: settings.inFlightMax,
    queueMax: settings.queueMax,
    queueTimeoutMs: settings.queueTimeoutMs,
    responseTimeoutMs: settings.responseTimeoutMs,
    admissionOff: !settings.shedLoad,
    retryBudgetPercent: settings.retryPercentMax,
    ejection: { failures: ejection.failures, periodMs: ejection.periodMs, maxPercent: ejection.percentMax },
    ...(probe === null ? {} : { health: probe }),
  } satisfies MessageInitShape<typeof AppTrafficSchema>);
}

function stickyOf(sticky: NonNullable<AppTrafficSettings['sticky']>) {
  return sticky.kind === 'cookie'
    ? { case: 'cookie' as const, value: sticky.name }
    : { case: 'client' as const, value: true };
}
