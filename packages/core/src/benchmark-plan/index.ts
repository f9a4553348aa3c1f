export { createPlan } from './create-plan.ts';
export { deletePlan } from './delete-plan.ts';
export { getPlan, listPlans } from './list-plans.ts';
export * from './schema.ts';
export { updatePlan } from './update-plan.ts';
