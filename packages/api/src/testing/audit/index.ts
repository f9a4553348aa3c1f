// The door to the calls of the audit's test.
export { auditCalls } from './calls.ts';
export type { AuditStage } from './inputs.ts';
