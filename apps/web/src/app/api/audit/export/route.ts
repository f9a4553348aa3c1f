// Exports the audit log as a file.
import { answerAuditExport } from '@fairlead/api';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function GET(request: Request): Promise<Response> {
  return answerAuditExport(await parts(), request);
}
