// Texts of an app's row in lists, and the refetch interval of its list. Pure.
import type { Formats } from '@fairlead/ui/formats';
import type { AppSummary } from '../../api/types.ts';

/** Refetch interval in milliseconds of a list with an app on several servers. */
const REREAD_EVERY_MS = 10_000;

/**
 * Returns the refetch interval of the query behind the rows. The stream has each server's own samples, from which no
 * overall quantile follows.
 */
export function refetchInterval(apps: readonly AppSummary[] | undefined): number | false {
  return apps?.some(({ serverCount }) => serverCount > 1) === true ? REREAD_EVERY_MS : false;
}

/** Names the first server and the number of the others. */
export function serversOf({ serverName, serverCount }: AppSummary): string {
  return serverCount === 1 ? serverName : `${serverName} and ${serverCount - 1} more`;
}

/** Describes the sparkline for screen readers. */
export function trafficText(app: AppSummary, { formatCount }: Formats): string {
  const peak = Math.max(0, ...app.sparkline);
  return peak === 0 ? 'No requests in the last 30 minutes' : `At most ${formatCount(peak)} requests/s`;
}
