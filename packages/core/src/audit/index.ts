export { type ExportFormat, exportAudit, exportFormatSchema } from './export-audit.ts';
export { listAudit } from './list-audit.ts';
export { type AuditEntry, type AuditFields, changedFields, recordAudit } from './record-audit.ts';
export * from './schema.ts';
export { verifyAudit } from './verify-audit.ts';
