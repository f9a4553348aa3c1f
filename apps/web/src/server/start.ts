// Start-up checks of the web process before it serves requests.
import 'server-only';
import { parts } from './parts.ts';

export async function start(): Promise<void> {
  const { log } = await parts();
  log.info({}, 'the web app is ready');
}
