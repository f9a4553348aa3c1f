// Target servers of a release: every server of the app in that environment, the first one first. Pure.
import type { Place } from '../config/index.ts';
import type { Target } from './machine.ts';

export function toTargets(servers: Place['servers']): Target[] {
  return servers.map(({ serverId, liveReleaseId }) => ({ serverId, formerReleaseId: liveReleaseId }));
}
