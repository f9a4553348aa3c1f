// Supervises the embedded PostgreSQL: restarts it with growing backoff when it ends unexpectedly. Invariant: never
// starts a second one beside a running one.
import { setTimeout as delay } from 'node:timers/promises';
import type { EmbeddedServer } from '@fairlead/db/embedded';

const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 15_000;

export class KeptDatabase {
  readonly url: string;
  readonly #start: () => Promise<EmbeddedServer>;
  readonly #note: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #keeping: Promise<void>;
  #server: EmbeddedServer;

  private constructor(start: () => Promise<EmbeddedServer>, note: (line: string) => void, server: EmbeddedServer) {
    this.#start = start;
    this.#note = note;
    this.#server = server;
    this.url = server.url;
    this.#keeping = this.#keep();
  }

  static async open(start: () => Promise<EmbeddedServer>, note: (line: string) => void): Promise<KeptDatabase> {
    return new KeptDatabase(start, note, await start());
  }

  get pid(): number {
    return this.#server.pid;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#keeping;
    await this.#server.stop();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    const told = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    for (let pauseMs = BACKOFF_MIN_MS; ; ) {
      await Promise.race([this.#server.ended, told]);
      if (signal.aborted) return;
      this.#note(`PostgreSQL ended; starting it again in ${pauseMs} ms`);
      await Promise.race([delay(pauseMs, undefined, { ref: false }), told]);
      if (signal.aborted) return;
      try {
        this.#server = await this.#start();
        pauseMs = BACKOFF_MIN_MS;
      } catch (error) {
        this.#note(`PostgreSQL could not be started: ${error instanceof Error ? error.message : String(error)}`);
        pauseMs = Math.min(pauseMs * 2, BACKOFF_MAX_MS);
      }
    }
  }
}
