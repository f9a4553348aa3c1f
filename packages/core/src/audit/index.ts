// The door to the audit log.
export { type AuditEntry, type AuditFields, recordAudit } from './record-audit.ts';
