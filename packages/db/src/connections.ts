// Connections to the database: their settings, and how many each process of the control plane may open. The start-up
// check compares the sum with the server's limit, so that no process is refused under load.

/**
 * Settings of every connection, whatever the defaults of the server or the role are. TimeZone: Prisma's adapter reads
 * each timestamp as UTC. search_path: the default first uses a schema with the login role's name.
 */
export const sessionSettings = '-c TimeZone=UTC -c search_path=public';

/** Pool sizes. The worker's is shared between its jobs' transactions and the queue's own pool. */
export const connectionBudgets = { web: 10, gateway: 6, worker: 6 } as const;

// Each process listens on a separate connection; a start's migration and a person's psql come on top.
const spare = Object.keys(connectionBudgets).length + 3;

export const connectionsNeeded = Object.values(connectionBudgets).reduce<number>((sum, size) => sum + size, spare);
