// Tells if a release listens on a Unix socket instead of a port. Pure.
import type { Settings } from '../config/index.ts';
import type { ReleasePlan } from './schema.ts';

/** Settings take precedence over a committed fairlead.toml. */
export function listensOnSocket({ listen }: Pick<Settings, 'listen'>, plan: ReleasePlan): boolean {
  return listen === 'socket' || (listen === 'auto' && plan.listensOnSocket);
}
