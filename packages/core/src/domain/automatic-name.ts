// Names of apps below the base domain of their server. Pure.
import { createHash } from 'node:crypto';
import { isDeploymentHost } from '../deployment-url/index.ts';

/** Longest label (RFC 1035, section 2.3.4). */
const labelMax = 63;
const digestLength = 8;

export interface NamedPlacement {
  readonly id: string;
  readonly appSlug: string;
  readonly environmentSlug: string;
}

/**
 * Returns `shop-staging`. A name that is too long or taken ends in digits that depend on the placement alone, so that it stays the
 * same.
 */
export function automaticLabel(
  { id, appSlug, environmentSlug }: NamedPlacement,
  isTaken: (label: string) => boolean,
): string {
  const plain = `${appSlug}-${environmentSlug}`;
  if (plain.length <= labelMax && !isDeploymentHost(plain) && !isTaken(plain)) return plain;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, digestLength);
  return `${plain.slice(0, labelMax - digestLength - 1).replace(/-+$/, '')}-${digest}`;
}
