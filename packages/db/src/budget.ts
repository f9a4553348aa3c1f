// How many connections each process of the control plane may hold. Pools are sized from here and the start-up check
// compares the sum with the server's limit, so that a process is not turned away under load.

/** Pool sizes. The worker's is shared between its jobs' transactions and the queue's own pool. */
export const connectionBudgets = { web: 10, gateway: 6, worker: 6 } as const;

// Each process listens on a connection of its own; a start's migration and a person's psql come on top.
const spare = Object.keys(connectionBudgets).length + 3;

export const connectionsNeeded = Object.values(connectionBudgets).reduce<number>((sum, size) => sum + size, spare);
