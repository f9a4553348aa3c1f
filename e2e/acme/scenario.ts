// One scenario of certificates, and what several of them do.
import { waitFor } from '../../tools/lib/wait.ts';
import type { World } from './world.ts';

export interface Scenario {
  readonly name: string;
  /** Part of the system test too. */
  readonly isQuick?: true;
  /** Codes with which orders of this scenario may fail. */
  readonly refusals: readonly string[];
  readonly run: (world: World) => Promise<void>;
}

/** Waits until a host has another certificate, and an unbroken service. */
export async function waitForRenewal(
  world: World,
  host: string,
  begin: () => Promise<void>,
  name = host,
): Promise<void> {
  const before = await world.leaf(host);
  await begin();
  const isRenewed = async () => !(await world.leaf(host)).equals(before);
  await waitFor(isRenewed, { what: `the renewal of ${host}`, timeoutMs: 240_000 });
  await world.waitForHttps(host, name);
}

/** Renewal of a certificate after its time has come. */
export function renew(world: World, host: string, name = host): Promise<void> {
  const begin = () => world.changeCertificate(host, { renewAt: new Date(0), nextAttemptAt: null });
  return waitForRenewal(world, host, begin, name);
}
