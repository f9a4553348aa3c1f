// Connection limits of each process of the control plane. They size the pools, and the start-up check compares their
// sum with the server's limit, so that no process is refused under load.

/** Pool sizes. The worker's is shared between its jobs' transactions and the queue's own pool. */
export const connectionBudgets = { web: 10, gateway: 6, worker: 6 } as const;

// Each process listens on a separate connection; a start's migration and a person's psql come on top.
const spare = Object.keys(connectionBudgets).length + 3;

export const connectionsNeeded = Object.values(connectionBudgets).reduce<number>((sum, size) => sum + size, spare);
