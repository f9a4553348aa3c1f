// Handles the jobs of metrics in portions.
import { forOrganization } from '@fairlead/core/kernel';
import { movedTables, moveMetrics, rollUpMetrics } from '@fairlead/core/metric';
import type { Handler } from './handler.ts';

// Maximum number of transactions per run; a larger backlog continues in the next minute.
const portionsMax = 20;
const portionTimeoutMs = 30_000;

export const rollUpMetricsHandler: Handler<'metric.roll_up'> = async ({ database, clock, log }) => {
  for (let portion = 0; portion < portionsMax; portion += 1) {
    const more = await database.system('metric.roll_up', (tx) => rollUpMetrics({ tx, clock, log }), {
      timeoutMs: portionTimeoutMs,
    });
    if (!more) return;
  }
  log.warn({ portionsMax }, 'metrics are rolled up more slowly than they come');
};

const moveTimeoutMs = 10 * 60_000;

export const moveMetricsHandler: Handler<'metric.move'> = async ({ database, clock, log }, payload) => {
  const { organizationId, ...move } = payload;
  for (const table of movedTables) {
    await database.system(
      'metric.move',
      (tx) => moveMetrics(forOrganization({ tx, clock, log }, organizationId), move, table),
      { timeoutMs: moveTimeoutMs },
    );
  }
};
