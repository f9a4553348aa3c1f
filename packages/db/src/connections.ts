// Connections to the database: their settings, and how many the processes of the control plane may open. The start-up
// check compares the sum with the server's limit, so that no process is refused under load.
import { defaultOf, type PoolSizes } from '@fairlead/settings';

/**
 * Settings of every connection, whatever the defaults of the server or the role are. TimeZone: Prisma's adapter reads
 * each timestamp as UTC. search_path: the default first uses a schema with the login role's name.
 */
export const sessionSettings = '-c TimeZone=UTC -c search_path=public';

// Each process listens on a separate connection; a start's migration and a person's psql come on top.
const spare = 6;

/** Returns the connections that all processes of a control plane may open together. */
export function connectionsNeeded({ web, gateway, worker, jobs }: PoolSizes): number {
  return web + gateway + worker + jobs + spare;
}

export const defaultPools: PoolSizes = {
  web: defaultOf('FAIRLEAD_WEB_POOL'),
  gateway: defaultOf('FAIRLEAD_GATEWAY_POOL'),
  worker: defaultOf('FAIRLEAD_WORKER_POOL'),
  jobs: defaultOf('FAIRLEAD_WORKER_JOBS'),
};
