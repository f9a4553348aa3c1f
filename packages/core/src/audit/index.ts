// The door to the audit log.
export { type AuditEntry, recordAudit } from './record-audit.ts';
