// Sets, removes, pauses and resumes the schedule of a saved plan.
// Invariant: what starts load requires the version that the member saw. What takes load away works for each version.
import { type AuditFields, recordAudit } from '../audit/index.ts';
import { benchmarkPlanSchema } from '../benchmark/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { nextSlot } from './next-slot.ts';
import { requireSchedulable } from './schedulable.ts';
import type { PauseScheduleInput, SavedPlanRef, UpdateScheduleInput } from './schema.ts';
import { lockPlan, requireVersion } from './store.ts';

/**
 * A changed schedule is not paused. Throws benchmark_plan.not_found, benchmark_plan.outdated and
 * benchmark_plan.not_schedulable.
 */
export async function updateSchedule(ctx: Ctx, input: UpdateScheduleInput): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const { planId, version, schedule } = input;
  const locked = await lockPlan(ctx, planId);
  const { name, appName, plan } = locked;
  if (schedule !== null) {
    requireVersion(locked, version);
    requireSchedulable(planId, benchmarkPlanSchema.parse(plan));
  }
  const old = await tx.benchmarkSchedule.findFirst({ where: { planId, organizationId } });
  if (schedule === null) {
    await tx.benchmarkSchedule.deleteMany({ where: { planId, organizationId } });
  } else {
    const data = { ...schedule, pausedAt: null, nextAt: nextSlot(schedule, ctx.clock.now()) };
    await tx.benchmarkSchedule.upsert({
      where: { organizationId_planId: { organizationId, planId } },
      create: { planId, organizationId, ...data },
      update: data,
    });
  }
  await recordAudit(ctx, {
    action: 'benchmark.update_schedule',
    target: { kind: 'benchmark_plan', id: planId, label: name },
    before: fieldsOf(old),
    after: { appName, ...fieldsOf(schedule) },
  });
  return { planId };
}

function fieldsOf(rule: { weekday: number | null; hour: number; timeZone: string } | null): AuditFields {
  if (rule === null) return { scheduled: false };
  const { weekday, hour, timeZone } = rule;
  return { scheduled: true, weekday, hour, timeZone };
}

/**
 * Slots during the pause are left out. Throws benchmark_plan.not_found, benchmark_plan.outdated and
 * benchmark_plan.no_schedule.
 */
export async function pauseSchedule(ctx: Ctx, input: PauseScheduleInput): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const { planId, version, paused } = input;
  const locked = await lockPlan(ctx, planId);
  const { name, appName } = locked;
  if (!paused) requireVersion(locked, version);
  const schedule = await tx.benchmarkSchedule.findFirst({ where: { planId, organizationId } });
  if (schedule === null) throw new AppError('benchmark_plan.no_schedule', { planId });
  const now = ctx.clock.now();
  const data = paused ? { pausedAt: schedule.pausedAt ?? now } : { pausedAt: null, nextAt: nextSlot(schedule, now) };
  await tx.benchmarkSchedule.updateMany({ where: { planId, organizationId }, data });
  await recordAudit(ctx, {
    action: 'benchmark.pause_schedule',
    target: { kind: 'benchmark_plan', id: planId, label: name },
    before: { paused: schedule.pausedAt !== null },
    after: { appName, paused },
  });
  return { planId };
}
