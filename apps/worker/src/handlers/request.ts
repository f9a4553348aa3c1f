// Jobs of rate limits and stream limits.
import { pruneRequests } from '@fairlead/core/request';
import type { Handler } from './handler.ts';

export const pruneRequestsHandler: Handler<'request.prune'> = async ({ database }) => {
  await database.system('request.prune', (tx) => pruneRequests({ tx }));
};
