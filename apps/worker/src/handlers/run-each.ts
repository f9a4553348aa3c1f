// Runs items of many organizations one after another: what one of them causes must not keep the others waiting.
import type { HandlerParts } from './handler.ts';

/** Logs an unexpected error with the item. Its lease ends, and a later run takes it again. */
export async function runEach<T extends object>(
  { log, stopping }: Pick<HandlerParts, 'log' | 'stopping'>,
  items: readonly T[],
  { work, failed }: { readonly work: (item: T) => Promise<void>; readonly failed: string },
): Promise<void> {
  for (const item of items) {
    if (stopping.aborted) return;
    try {
      await work(item);
    } catch (error) {
      log.error({ err: error, item }, failed);
    }
  }
}
