// Addresses of the dashboard: the public URL of the settings, and the domains that have answered. Pure.
import type { DashboardReach } from './schema.ts';

/** Facts that the process knows from its settings. */
export interface DashboardFacts {
  readonly reach: DashboardReach;
  /** Public URL of the settings, without a slash at its end. */
  readonly settingsUrl: string;
  /** Port on which the local server's proxy serves HTTPS. */
  readonly httpsPort: number;
}

export interface DomainAnswer {
  readonly host: string;
  readonly answeredAt: Date | null;
}

export function dashboardUrl(host: string, { httpsPort }: Pick<DashboardFacts, 'httpsPort'>): string {
  return `https://${host}${httpsPort === 443 ? '' : `:${httpsPort}`}`;
}

/** Returns the hosts of all domains that have answered, the newest answer first. Links lead to the first one. */
export function answeredHosts(domains: readonly DomainAnswer[]): string[] {
  const at = ({ answeredAt }: DomainAnswer) => answeredAt?.getTime() ?? 0;
  return domains
    .filter(({ answeredAt }) => answeredAt !== null)
    .sort((a, b) => at(b) - at(a))
    .map(({ host }) => host);
}

/** Returns the domain of the settings' public URL; null for an address or a URL that only this machine reaches. */
export function suggestedHost({ reach, settingsUrl }: DashboardFacts): string | null {
  const { hostname } = new URL(settingsUrl);
  const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname);
  return reach === 'served' && !isAddress ? hostname : null;
}
