// Simulated visitors of the sample app, so that its charts have data.
import { startTraffic, type Traffic } from '../../tools/lib/traffic.ts';

export const SAMPLE_HOST = 'hello.localhost';

export function visitSample(): Traffic {
  const { FAIRLEAD_E2E_HTTPS_PORT: port, FAIRLEAD_E2E_CA: caFile } = process.env;
  if (port === undefined || caFile === undefined) throw new Error('global-setup.ts did not run');
  return startTraffic({ host: SAMPLE_HOST, port: Number(port), caFile, path: '/', connections: 2 });
}
