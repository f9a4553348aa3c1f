export { type CheckAction, listCheckActions } from './list-check-actions.ts';
export { type CheckedAction, type CheckRules, processCheckRequest } from './process-check-request.ts';
