// Procedures of the audit log. Its export is in answer-audit-export.ts.
import {
  auditPageSchema,
  auditVerdictSchema,
  listAudit,
  listAuditInputSchema,
  verifyAudit,
  verifyAuditInputSchema,
} from '@fairlead/core/audit';
import { memberProcedure, router } from '../procedures.ts';

export const auditRouter = router({
  list: memberProcedure('audit.read', { input: listAuditInputSchema })
    .output(auditPageSchema)
    .query(({ ctx, input }) => listAudit(ctx.core, input)),

  verify: memberProcedure('audit.read', { input: verifyAuditInputSchema })
    .output(auditVerdictSchema)
    .query(({ ctx, input }) => verifyAudit(ctx.core, input)),
});
