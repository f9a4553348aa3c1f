// Type of a job definition. Definitions are data: handlers are in apps/worker, enqueueing in packages/db.
import type { z } from 'zod';

export interface JobDefinition<Name extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly name: Name;
  /**
   * `tenant`: belongs to one organization; its id is in the payload, and the handler opens its scope.
   * `system`: belongs to the control plane and may not be enqueued by a tenant.
   */
  readonly scope: 'tenant' | 'system';
  /** Schema of the payload, checked when enqueued and again when claimed: worker and sender may differ in version. */
  readonly payload: Schema;
  readonly attemptsMax: number;
  /** Five cron fields, UTC, or a plain interval; null when it is only ever enqueued. */
  readonly every: { readonly cron: string } | { readonly intervalMs: number } | null;
}

export function defineJob<const Name extends string, Schema extends z.ZodType>(
  definition: JobDefinition<Name, Schema>,
): JobDefinition<Name, Schema> {
  return definition;
}
