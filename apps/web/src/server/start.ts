// What must be true before this process serves anybody.
import 'server-only';
import { parts } from './parts.ts';

export async function start(): Promise<void> {
  const { log } = await parts();
  log.info({}, 'the web app is ready');
}
