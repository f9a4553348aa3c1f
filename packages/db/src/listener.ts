// LISTEN on one dedicated connection for all channels of a process, with reconnects while there are listeners.
// Notices are hints: a handler reads the rows itself, and reads them again after a gap.
import pg from 'pg';
import { sessionSettings } from './connections.ts';

export interface ListenHandlers {
  readonly onNotice: (payload: string) => void;
  /** The connection was lost and is back; notices of the time between are missing. */
  readonly onGap: () => void;
}

export interface ListenerOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly onError: (error: Error) => void;
}

export interface Listener {
  listen(channel: string, handlers: ListenHandlers): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const backoffMinMs = 50;
const backoffMaxMs = 5_000;

export function createListener(options: ListenerOptions): Listener {
  const channels = new Map<string, Set<ListenHandlers>>();
  let client: pg.Client | null = null;
  let connecting: Promise<pg.Client> | null = null;
  let retry: NodeJS.Timeout | null = null;
  let closed = false;

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({
      connectionString: options.url,
      application_name: options.applicationName,
      keepAlive: true,
      options: sessionSettings,
    });
    fresh.on('notification', ({ channel, payload }) => {
      for (const handlers of channels.get(channel) ?? []) handlers.onNotice(payload ?? '');
    });
    fresh.on('error', options.onError);
    try {
      await fresh.connect();
      for (const channel of channels.keys()) await fresh.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      await discard(fresh);
      throw error;
    }
    fresh.once('end', () => {
      if (client !== fresh) return;
      client = null;
      reconnect(backoffMinMs);
    });
    client = fresh;
    return fresh;
  }

  function connected(): Promise<pg.Client> {
    if (client !== null) return Promise.resolve(client);
    connecting ??= connect().finally(() => {
      connecting = null;
    });
    return connecting;
  }

  function reconnect(delayMs: number): void {
    if (closed || retry !== null || channels.size === 0) return;
    retry = setTimeout(
      () => {
        retry = null;
        connected().then(
          () => {
            for (const listeners of channels.values()) for (const handlers of listeners) handlers.onGap();
          },
          (error: Error) => {
            options.onError(error);
            reconnect(Math.min(delayMs * 2, backoffMaxMs));
          },
        );
        // Spread over half of the delay, so that many processes don't come back in step.
      },
      delayMs * (0.5 + Math.random() / 2),
    );
  }

  async function unlisten(channel: string, handlers: ListenHandlers): Promise<void> {
    const listeners = channels.get(channel);
    listeners?.delete(handlers);
    if (listeners === undefined || listeners.size > 0) return;
    channels.delete(channel);
    // A connection that breaks right now stops listening anyway, as intended.
    await client?.query(`UNLISTEN ${pg.escapeIdentifier(channel)}`).catch(options.onError);
  }

  return {
    listen: async (channel, handlers) => {
      if (closed) throw new Error('the database is closed');
      const listeners = channels.get(channel) ?? new Set();
      listeners.add(handlers);
      channels.set(channel, listeners);
      try {
        const current = await connected();
        // Listening twice is once; and the connection may be older than this channel.
        await current.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      } catch (error) {
        listeners.delete(handlers);
        if (listeners.size === 0) channels.delete(channel);
        throw error;
      }
      return () => unlisten(channel, handlers);
    },
    close: async () => {
      closed = true;
      channels.clear();
      if (retry !== null) clearTimeout(retry);
      const last = client ?? (await connecting?.catch(() => null)) ?? null;
      client = null;
      await last?.end();
    },
  };
}

/** Closes a client that never connected; the caller has already reported its error. */
async function discard(client: pg.Client): Promise<void> {
  await client.end().catch(() => undefined);
}
