// Sets, removes, pauses and resumes the schedule of a saved plan.
import { type AuditFields, recordAudit } from '../audit/index.ts';
import { benchmarkPlanSchema } from '../benchmark/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { nextSlot } from './next-slot.ts';
import { requireSchedulable } from './schedulable.ts';
import type { PauseScheduleInput, SavedPlanRef, UpdateScheduleInput } from './schema.ts';
import { lockPlan } from './store.ts';

/** A changed schedule is not paused. Throws benchmark_plan.not_found and benchmark_plan.not_schedulable. */
export async function updateSchedule(ctx: Ctx, { planId, schedule }: UpdateScheduleInput): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const { name, appName, plan } = await lockPlan(ctx, planId);
  if (schedule !== null) requireSchedulable(planId, benchmarkPlanSchema.parse(plan));
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

/** Slots during the pause are left out. Throws benchmark_plan.not_found and benchmark_plan.no_schedule. */
export async function pauseSchedule(ctx: Ctx, { planId, paused }: PauseScheduleInput): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const { name, appName } = await lockPlan(ctx, planId);
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
