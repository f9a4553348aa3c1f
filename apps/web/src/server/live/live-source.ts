// The API's live source: merges the gateway's stream and the database's change notifications into one stream per
// subscription. Checks each notification against the organization and its topics; the caller guarantees that they
// match.
import type { LiveSource } from '@fairlead/api';
import type { LiveEvent } from '@fairlead/contract/live';
import { changeChannel, changeNotice } from '@fairlead/contract/notify';
import type { Log } from '@fairlead/core/kernel';
import type { Database } from '@fairlead/db';
import { createEventQueue } from './event-queue.ts';
import { followGateway, type GatewayStreamOptions, inspectByGateway, searchGateway } from './gateway-stream.ts';
import { changesAfterGap, matchesTopics } from './topics.ts';

export interface LiveSourceOptions extends GatewayStreamOptions {
  readonly database: Pick<Database, 'listen'>;
  readonly log: Log;
}

/** Maximum number of queued events; a page that falls further behind refetches instead. */
const EVENTS_MAX = 2000;

export function createLiveSource(options: LiveSourceOptions): LiveSource {
  return {
    searchLogs: (query, signal) => searchGateway(options, query, signal),
    inspect: (query, signal) => inspectByGateway(options, query, signal),
    async *subscribe(subscription) {
      const { organizationId, topics, signal } = subscription;
      const missed = changesAfterGap(topics);
      const queue = createEventQueue<LiveEvent>(EVENTS_MAX, () => missed);
      const onGap = () => {
        for (const event of missed) queue.push(event);
      };
      const onNotice = (payload: string) => {
        const notice = parseNotice(payload, options.log);
        if (notice === null || notice.organizationId !== organizationId || !matchesTopics(topics, notice)) return;
        queue.push({ type: 'changed', kind: notice.kind, id: notice.id });
      };

      const stopListening = await options.database.listen(changeChannel, { onNotice, onGap });
      // The page loaded its data before this stream started, or during a break: refetch.
      onGap();
      const ended = new AbortController();
      const stop = AbortSignal.any([signal, ended.signal]);
      stop.addEventListener('abort', () => queue.end());
      if (stop.aborted) queue.end();
      const following = followGateway(options, { ...subscription, signal: stop }, queue.push, onGap).catch(queue.fail);
      try {
        yield* queue.read();
      } finally {
        ended.abort();
        await Promise.all([stopListening(), following]);
      }
    },
  };
}

function parseNotice(payload: string, log: Log) {
  try {
    return changeNotice.parse(JSON.parse(payload));
  } catch (error) {
    log.error({ err: error }, 'a change notice cannot be read');
    return null;
  }
}
