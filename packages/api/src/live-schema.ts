// Input schema of the live stream; it also checks every event before it is sent.
import { type LiveEvent, liveEvent, liveTopic, liveTopicsMax } from '@fairlead/contract/live';
import { z } from 'zod';

export const watchInputSchema = z.object({
  topics: z.array(liveTopic).min(1).max(liveTopicsMax),
  /** Cursor that tRPC's client sends after a reconnect; this stream has no history, so it is accepted and unused. */
  lastEventId: z.string().nullish(),
});

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* parseEach(events: AsyncIterable<unknown>): AsyncGenerator<LiveEvent, void> {
  for await (const event of events) yield liveEvent.parse(event);
}

export const watchOutputSchema = z
  .custom<AsyncIterable<LiveEvent>>(isAsyncIterable, 'expected a stream')
  .transform((events) => parseEach(events));
