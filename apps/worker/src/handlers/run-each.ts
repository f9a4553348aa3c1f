// Runs items of many organizations: what one of them causes, such as a slow server, must not keep the others waiting.
import type { HandlerParts } from './handler.ts';

const organizationsAtOnce = 8;

/**
 * Runs the items of one organization one after another, and some organizations at the same time. Logs an unexpected error
 * with the item: its lease ends, and a later run takes it again.
 */
export async function runEach<T extends { readonly organizationId: string }>(
  { log, stopping }: Pick<HandlerParts, 'log' | 'stopping'>,
  items: readonly T[],
  { work, failed }: { readonly work: (item: T) => Promise<void>; readonly failed: string },
): Promise<void> {
  const waiting = [...Map.groupBy(items, ({ organizationId }) => organizationId).values()];

  async function runOrganizations(): Promise<void> {
    for (let own = waiting.shift(); own !== undefined; own = waiting.shift()) {
      for (const item of own) {
        if (stopping.aborted) return;
        try {
          await work(item);
        } catch (error) {
          log.error({ err: error, item }, failed);
        }
      }
    }
  }

  await Promise.all(Array.from({ length: organizationsAtOnce }, runOrganizations));
}
