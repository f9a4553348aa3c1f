// Runs a job's items with concurrency per organization, so that one organization's slow server delays no other. A job that uses
// it runs again while an earlier run still processes some organizations, and skips those.
import type { JobName } from '@fairlead/contract/jobs';
import type { Log } from '@fairlead/core/kernel';

const organizationsAtOnce = 8;

interface Work<T> {
  readonly work: (item: T) => Promise<void>;
  /** Message of the log for an unexpected error. */
  readonly failed: string;
}

export interface OrganizationTurns {
  /** Organizations that an earlier run of the job still processes; the next run skips them. */
  busy(job: JobName): readonly string[];
  /**
   * Runs the items of one organization one after another, and some organizations at the same time. Logs an unexpected error
   * with the item: its lease ends, and a later run takes it again.
   */
  runEach<T extends { readonly organizationId: string }>(
    job: JobName,
    items: readonly T[],
    work: Work<T>,
  ): Promise<void>;
}

export function createOrganizationTurns({
  log,
  stopping,
}: {
  readonly log: Log;
  readonly stopping: AbortSignal;
}): OrganizationTurns {
  const busy = new Map<JobName, Set<string>>();

  async function runOwn<T extends object>(items: readonly T[], { work, failed }: Work<T>): Promise<void> {
    for (const item of items) {
      if (stopping.aborted) return;
      try {
        await work(item);
      } catch (error) {
        log.error({ err: error, item }, failed);
      }
    }
  }

  return {
    busy: (job) => [...(busy.get(job) ?? [])],
    runEach: async (job, items, work) => {
      const own = busy.get(job) ?? new Set();
      busy.set(job, own);
      const waiting = [...Map.groupBy(items, ({ organizationId }) => organizationId)];
      for (const [organizationId] of waiting) own.add(organizationId);
      const runNext = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          await runOwn(next[1], work);
          own.delete(next[0]);
        }
      };
      await Promise.all(Array.from({ length: organizationsAtOnce }, runNext));
    },
  };
}
