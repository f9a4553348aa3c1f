export { createPlan } from './create-plan.ts';
export { deletePlan } from './delete-plan.ts';
export { getPlan, listPlans } from './list-plans.ts';
export { type DuePlan, findDuePlans, runSchedule } from './run-schedules.ts';
export * from './schema.ts';
export { updatePlan } from './update-plan.ts';
export { pauseSchedule, updateSchedule } from './update-schedule.ts';
