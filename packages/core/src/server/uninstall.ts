// Rules of an agent's removal from its server. Pure.
import { storedUninstallSchema, type UninstallView } from './schema.ts';

export function uninstallView(stored: unknown): UninstallView | null {
  return stored === null ? null : storedUninstallSchema.parse(stored);
}

/** Returns the request while the agent works on it. After a failure a person repeats it. */
export function wantedUninstall(stored: unknown): Pick<UninstallView, 'withData'> | null {
  const uninstall = uninstallView(stored);
  return uninstall?.state === 'running' ? { withData: uninstall.withData } : null;
}

/** Form in the server's row. */
export function storedUninstall({ requestedAt, ...rest }: UninstallView) {
  return { ...rest, requestedAt: requestedAt.toISOString() };
}
