// Facts about the dashboard's addresses that a process knows from its settings. Pure.
import { type Environment, isLocalUrl } from '@fairlead/settings';
import type { DashboardFacts } from './rules.ts';

type Addresses = Pick<Environment<'web'>, 'FAIRLEAD_PUBLIC_URL' | 'FAIRLEAD_BEHIND_PROXY' | 'FAIRLEAD_HTTPS_PORT'>;

export function dashboardFacts(env: Addresses): DashboardFacts {
  const settingsUrl = env.FAIRLEAD_PUBLIC_URL;
  const served = env.FAIRLEAD_BEHIND_PROXY ? 'reverse_proxy' : 'served';
  return { reach: isLocalUrl(settingsUrl) ? 'local' : served, settingsUrl, httpsPort: env.FAIRLEAD_HTTPS_PORT };
}
