// App of the lab's live scenarios. It may sleep, but only a benchmark puts it to sleep.
import type { AppId } from '@fairlead/contract/ids';
import { respondingApp } from '../system/harness/apps.ts';
import type { System } from '../system/harness/system.ts';

const HOUR_MS = 3_600_000;

/** Creates and deploys it; throws if it does not become live. */
export async function deploySleepyApp(system: System): Promise<AppId> {
  const repository = await system.repositories.create('lab', respondingApp('hello'));
  const autoscaling = { instancesMin: 0, instancesMax: 1, idleTimeoutMs: 24 * HOUR_MS };
  const appId = await system.createAppWith('lab', repository, { autoscaling });
  const { state, failureMessage } = await system.deploy(appId);
  if (state !== 'live') throw new Error(`the lab's app is ${state}: ${failureMessage}`);
  return appId;
}
