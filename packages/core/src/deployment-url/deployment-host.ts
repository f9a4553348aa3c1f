// Names of deployment URLs: the name of an app in an environment, two dashes and the number of the release. Pure.
// Invariant: no app, environment or attached domain has such a name.
import { createHash } from 'node:crypto';

/** Longest label (RFC 1035, section 2.3.4). */
const labelMax = 63;
const digestLength = 8;

/** Returns `shop-production--12.apps.example.com` for release 12 of the app at `shop-production.apps.example.com`. */
export function deploymentHost(appHost: string, releaseNumber: number): string {
  const [label = '', ...base] = appHost.split('.');
  const suffix = `--${releaseNumber}`;
  const digest = createHash('sha256').update(label).digest('hex').slice(0, digestLength);
  const short = label.slice(0, labelMax - suffix.length - digestLength - 1).replace(/-+$/, '');
  const own = label.length + suffix.length <= labelMax ? label : `${short}-${digest}`;
  return [`${own}${suffix}`, ...base].join('.');
}

/** Returns true if a host name has the form of a deployment URL's. */
export function isDeploymentHost(host: string): boolean {
  return /^[^.]*--[0-9]+\./.test(`${host}.`);
}
