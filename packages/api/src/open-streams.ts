// Live streams that are open in this process: bounded by person and organization, rechecked by session, and ended when the
// session, the membership or a right is gone. Never holds a transaction.
import { newId } from '@fairlead/contract/ids';
import { AppError, actorUserId, type Log } from '@fairlead/core/kernel';
import { closeStream, openStream, type StreamLimits, touchStreams } from '@fairlead/core/request';
import type { Database } from '@fairlead/db';
import { type Access, readAccess, requireSession } from './access.ts';
import type { ApiContext } from './context.ts';
import { toTrpcError } from './errors.ts';

const defaultStreamLimits: StreamLimits = { personMax: 20, organizationMax: 200 };

const defaultRecheckMs = 15_000;
/** Renews a stream several times within core's `streamSeenMs`. */
const touchMs = 5_000;

/** Contents of a stream, and the access that its person must keep. */
export interface Watching<T> {
  /** Throws when `now` no longer allows the stream. */
  readonly requireStill: (now: Access) => void;
  readonly items: AsyncIterable<T>;
}

/** State of a stream that is being opened. */
export interface StreamSide {
  /** Signal that aborts when the reader leaves or access ends. */
  readonly signal: AbortSignal;
  /** Access as last read. */
  readonly access: () => Access;
}

interface OpenStream {
  readonly requireStill: (now: Access) => void;
  readonly end: (reason: unknown) => void;
  access: Access;
}

type Close = () => Promise<void>;

export interface OpenStreams {
  /** Counts a stream; throws request.too_many. Returns the function that closes it. */
  claim(access: Access): Promise<Close>;
  /** Counts a stream of a session, and keeps checking its access. Throws request.too_many, and token.person_only. */
  open(ctx: ApiContext, stream: OpenStream): Promise<Close>;
}

export interface OpenStreamsOptions {
  readonly database: Database;
  readonly log: Log;
  readonly limits?: StreamLimits;
  /** Longest time for which a stream stays open after its person lost access. */
  readonly recheckMs?: number;
}

export function createOpenStreams({
  database,
  log,
  limits = defaultStreamLimits,
  recheckMs = defaultRecheckMs,
}: OpenStreamsOptions): OpenStreams {
  /** Ids of all streams that are open here; one statement renews them. */
  const openIds = new Set<string>();
  /** Streams by session and organization; one check covers each group. */
  const watched = new Map<string, { readonly streams: Set<OpenStream>; readonly timer: NodeJS.Timeout }>();
  let touching: NodeJS.Timeout | undefined;
  const reserve = createReservations(limits);
  /** Streams open one after another: those that wait for core's locks hold one connection together, not one each. */
  let opening: Promise<unknown> = Promise.resolve();

  const touch = () => {
    database
      .system('renew live streams', (tx) => touchStreams({ tx }, { streamIds: [...openIds] }))
      .catch((error: unknown) => log.warn({ err: error }, 'open live streams could not be renewed'));
  };
  const recheck = (ctx: ApiContext, key: string) => {
    const streams = [...(watched.get(key)?.streams ?? [])];
    const [first] = streams;
    if (first === undefined) return;
    readAccess(ctx, first.access).then(
      (now) => {
        for (const stream of streams) {
          try {
            stream.requireStill(now);
            stream.access = now;
          } catch (error) {
            stream.end(error);
          }
        }
      },
      (error: unknown) => {
        for (const stream of streams) stream.end(error);
      },
    );
  };
  const watch = (ctx: ApiContext, key: string, stream: OpenStream) => {
    const known = watched.get(key);
    if (known === undefined) {
      watched.set(key, { streams: new Set([stream]), timer: setInterval(() => recheck(ctx, key), recheckMs) });
    } else {
      known.streams.add(stream);
    }
  };
  const unwatch = (key: string, stream: OpenStream) => {
    const known = watched.get(key);
    known?.streams.delete(stream);
    if (known?.streams.size !== 0) return;
    clearInterval(known.timer);
    watched.delete(key);
  };
  const claim = async ({ actor, organizationId }: Access): Promise<Close> => {
    const streamId = newId('evt');
    // A service account's token belongs to no person.
    const userId = actorUserId(actor) ?? (actor.kind === 'token' ? actor.tokenId : 'system');
    const release = reserve(userId, organizationId);
    const opened = opening.then(() =>
      database.system('open a live stream', (tx) => openStream({ tx }, { streamId, userId, organizationId }, limits)),
    );
    // The next one opens all the same.
    opening = opened.catch(() => undefined);
    await opened.catch((error: unknown) => {
      release();
      throw error;
    });
    openIds.add(streamId);
    touching ??= setInterval(touch, touchMs);
    return async () => {
      release();
      openIds.delete(streamId);
      if (openIds.size === 0) {
        clearInterval(touching);
        touching = undefined;
      }
      // A row that stays behind stops counting when it is no longer renewed.
      await database
        .system('close a live stream', (tx) => closeStream({ tx }, { streamId }))
        .catch((error: unknown) => log.warn({ err: error }, 'a live stream could not be closed'));
    };
  };

  return {
    claim,
    open: async (ctx, stream) => {
      const { id } = await requireSession(ctx);
      const close = await claim(stream.access);
      const key = `${id} ${stream.access.organizationSlug}`;
      watch(ctx, key, stream);
      return async () => {
        unwatch(key, stream);
        await close();
      };
    },
  };
}

/** Counts the streams of this process, those that are being opened too. Throws request.too_many without a transaction. */
function createReservations({ personMax, organizationMax }: StreamLimits) {
  const persons = new Map<string, number>();
  const organizations = new Map<string, number>();
  const change = (counts: Map<string, number>, key: string, by: 1 | -1) => {
    const count = (counts.get(key) ?? 0) + by;
    if (count === 0) counts.delete(key);
    else counts.set(key, count);
  };
  return (userId: string, organizationId: string): (() => void) => {
    if ((persons.get(userId) ?? 0) >= personMax || (organizations.get(organizationId) ?? 0) >= organizationMax) {
      throw new AppError('request.too_many', { openStreamsMax: personMax });
    }
    change(persons, userId, 1);
    change(organizations, organizationId, 1);
    return () => {
      change(persons, userId, -1);
      change(organizations, organizationId, -1);
    };
  };
}

/**
 * Yields the items of `begin` until its reader leaves or its person loses access. The procedure builder maps errors
 * before the response starts; a stream throws later, so it maps its errors itself.
 */
export async function* streamWhileAllowed<T>(
  ctx: ApiContext & { readonly access: Access },
  { path, signal }: { readonly path: string; readonly signal: AbortSignal | undefined },
  begin: (side: StreamSide) => Promise<Watching<T>>,
): AsyncGenerator<T, void> {
  const ended = new AbortController();
  const stop = AbortSignal.any(signal === undefined ? [ended.signal] : [signal, ended.signal]);
  const stream = { access: ctx.access, requireStill: (_now: Access): void => {}, end: ended.abort.bind(ended) };
  let close: (() => Promise<void>) | undefined;
  try {
    // Before anything is read: a burst beyond the bounds must cost no transaction.
    close = await ctx.streams.open(ctx, stream);
    const { requireStill, items } = await begin({ signal: stop, access: () => stream.access });
    stream.requireStill = requireStill;
    yield* items;
    ended.signal.throwIfAborted();
  } catch (error) {
    if (signal?.aborted) return;
    throw toTrpcError(ended.signal.aborted ? ended.signal.reason : error, ctx.log, path);
  } finally {
    ended.abort();
    await close?.();
  }
}
