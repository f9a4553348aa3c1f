// PostgreSQL client that sends one query at a time. Prisma loads the relations of a row side by side on a transaction's one
// connection, and pg deprecates a query that starts before the one in front of it has ended.
import pg from 'pg';

export class SerialClient extends pg.Client {
  #last: Promise<unknown> = Promise.resolve();

  // All of pg's overloads come through here unchanged.
  // biome-ignore lint/suspicious/noExplicitAny: an override must accept each overload of pg's declaration
  override query(...args: any[]): any {
    const send = () => super.query(...(args as Parameters<pg.Client['query']>));
    const isStreamed = typeof args[0]?.submit === 'function';
    if (isStreamed || typeof args.at(-1) === 'function') return send();
    const result = this.#last.then(send);
    this.#last = result.then(ignore, ignore);
    return result;
  }
}

/** The caller of a query handles its outcome; the next query only waits for it. */
function ignore(): void {}
