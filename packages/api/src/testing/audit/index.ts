export { auditCalls } from './calls.ts';
export type { AuditStage } from './inputs.ts';
