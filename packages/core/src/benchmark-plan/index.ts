export { advanceSchedule, type DuePlan, findDuePlans } from './advance-schedules.ts';
export { createPlan } from './create-plan.ts';
export { deletePlan } from './delete-plan.ts';
export { getPlan, listPlans } from './list-plans.ts';
export * from './schema.ts';
export { lockPlan } from './store.ts';
export { syncRepositoryPlan } from './sync-repository-plan.ts';
export { updatePlan } from './update-plan.ts';
export { pauseSchedule, updateSchedule } from './update-schedule.ts';
