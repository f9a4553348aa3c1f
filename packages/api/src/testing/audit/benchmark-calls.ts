// Calls of the mutations on benchmark runs and saved plans.
import { newId } from '@fairlead/contract/ids';
import { importableDocument } from '@fairlead/core/testing';
import type { AuditCall } from './audit-call.ts';
import { type AuditStage, auditInputs } from './inputs.ts';

const nightly = { weekday: null, hour: 3, timeZone: 'Europe/Berlin' };

export function benchmarkCalls(stage: AuditStage) {
  const { caller, newApp, liveApp } = auditInputs(stage);
  const newRun = async () => caller().benchmark.create({ appId: (await liveApp()).appId, plan: {} });
  /** Queues a benchmark and ends it with a row. */
  const newMeasuredRun = async () => {
    const { system } = stage.api.world;
    const { runId } = await newRun();
    await system(async ({ tx }) => {
      await tx.benchmarkRun.updateMany({ where: { id: runId }, data: { state: 'succeeded' } });
      const { organizationId } = await tx.benchmarkRun.findUniqueOrThrow({ where: { id: runId } });
      await tx.benchmarkRow.create({
        data: {
          ...{ id: newId('row'), organizationId, runId, position: 0, round: 0, target: 'proxy', protocol: 'http1' },
          ...{ concurrency: 1, durationMs: 1000, requests: 1n, errors: 0n, latency: new Uint8Array() },
          ...{ proxyCpuUs: 1n, proxyMemoryBytes: 1n, bytesReceived: 1n },
        },
      });
    });
    return { runId };
  };
  const newPlan = async () =>
    caller().benchmarkPlan.create({ appId: (await newApp()).appId, name: 'Nightly', plan: {} });
  return {
    'benchmark.create': {
      action: 'benchmark.create',
      input: async () => ({ appId: (await liveApp()).appId, plan: {} }),
    },
    'benchmark.cancel': { action: 'benchmark.cancel', input: newRun },
    'benchmark.update': {
      action: 'benchmark.update',
      input: async () => ({ ...(await newRun()), tags: ['nightly'], note: 'After the upgrade.' }),
    },
    'benchmark.import': {
      action: 'benchmark.import',
      input: async () => ({ appId: (await newApp()).appId, document: importableDocument() }),
    },
    'benchmark.delete': { action: 'benchmark.delete', input: async () => caller().benchmark.cancel(await newRun()) },
    'benchmark.publish': { action: 'benchmark.publish', input: newMeasuredRun },
    'benchmark.unpublish': {
      action: 'benchmark.unpublish',
      input: async () => {
        const run = await newMeasuredRun();
        await caller().benchmark.publish(run);
        return run;
      },
    },
    'benchmarkPlan.create': {
      action: 'benchmark.create_plan',
      input: async () => ({ appId: (await newApp()).appId, name: 'Nightly', plan: {} }),
    },
    'benchmarkPlan.upload': {
      action: 'benchmark.create_plan',
      input: async () => ({
        appId: (await newApp()).appId,
        document: { format: 'fairlead-plan-1', name: 'Nightly', plan: {} },
      }),
    },
    'benchmarkPlan.update': {
      action: 'benchmark.update_plan',
      input: async () => ({ ...(await newPlan()), version: 1, name: 'Weekly' }),
    },
    'benchmarkPlan.updateSchedule': {
      action: 'benchmark.update_schedule',
      input: async () => ({ ...(await newPlan()), version: 1, schedule: nightly }),
    },
    'benchmarkPlan.pauseSchedule': {
      action: 'benchmark.pause_schedule',
      input: async () => {
        const { planId } = await newPlan();
        await caller().benchmarkPlan.updateSchedule({ planId, version: 1, schedule: nightly });
        return { planId, version: 1, paused: true };
      },
    },
    'benchmarkPlan.delete': { action: 'benchmark.delete_plan', input: newPlan },
  } satisfies Record<string, AuditCall>;
}
