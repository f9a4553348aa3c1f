// Client of the gateway's internal stream of samples and log lines, for one subscription. Reconnects with growing
// backoff until the subscription ends, because the gateway may restart.

import type { LiveSubscription } from '@fairlead/api';
import { type AppLogBatch, type AppLogQuery, appLogBatch } from '@fairlead/contract/app-log';
import { type Inspection, type InspectQuery, inspection } from '@fairlead/contract/inspection';
import { formatLiveTopic, type LiveEvent, liveEvent } from '@fairlead/contract/live';
import type { Log } from '@fairlead/core/kernel';
import { readEventData } from './event-stream.ts';

export interface GatewayStreamOptions {
  readonly gatewayUrl: string;
  readonly token: () => Promise<string>;
  readonly log: Log;
}

const PAUSE_MIN_MS = 250;
const PAUSE_MAX_MS = 5000;

/** Resolves once the subscription's signal fires. Calls `onResume` when events may be missing since the last one. */
export async function followGateway(
  options: GatewayStreamOptions,
  subscription: LiveSubscription,
  onEvent: (event: LiveEvent) => void,
  onResume: () => void,
): Promise<void> {
  const { signal } = subscription;
  let pauseMs = PAUSE_MIN_MS;
  let connectedBefore = false;
  while (!signal.aborted) {
    try {
      const response = await open(options, subscription);
      if (connectedBefore) onResume();
      connectedBefore = true;
      pauseMs = PAUSE_MIN_MS;
      for await (const data of readEventData(response)) onEvent(liveEvent.parse(JSON.parse(data)));
    } catch (error) {
      if (signal.aborted) return;
      options.log.warn({ err: error, pauseMs }, 'the live stream of the gateway broke; it is opened again');
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
  }
}

/** Searches log lines on servers. Ends with the gateway's response; callers reconnect. */
export async function* searchGateway(
  { gatewayUrl, token }: GatewayStreamOptions,
  query: AppLogQuery,
  signal: AbortSignal,
): AsyncGenerator<AppLogBatch, void> {
  const response = await fetch(`${gatewayUrl}/internal/logs`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${await token()}`,
    },
    // Search words are private: they stay out of URLs, which get logged.
    body: JSON.stringify(query),
    cache: 'no-store',
    redirect: 'error',
    signal,
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new Error(`the gateway answered ${response.status}`);
  }
  try {
    for await (const data of readEventData(response.body)) yield appLogBatch.parse(JSON.parse(data));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Returns the plan of a source, or the reason for none. Each call queries the server. */
export async function inspectByGateway(
  { gatewayUrl, token }: GatewayStreamOptions,
  query: InspectQuery,
  signal: AbortSignal,
): Promise<Inspection> {
  const response = await fetch(`${gatewayUrl}/internal/inspect`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await token()}` },
    body: JSON.stringify(query),
    cache: 'no-store',
    redirect: 'error',
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the gateway answered ${response.status}`);
  }
  return inspection.parse(await response.json());
}

async function open(
  { gatewayUrl, token }: GatewayStreamOptions,
  { organizationId, topics, signal }: LiveSubscription,
): Promise<AsyncIterable<Uint8Array>> {
  const url = new URL(`${gatewayUrl}/internal/live`);
  url.searchParams.set('organization', organizationId);
  url.searchParams.set('topics', topics.map(formatLiveTopic).join(','));
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${await token()}` },
    cache: 'no-store',
    redirect: 'error',
    signal,
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new Error(`the gateway answered ${response.status}`);
  }
  return response.body;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
