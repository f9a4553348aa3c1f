// A folder that a page uploads. proxy.ts does not see it: the guard is asked here.
import { answerPageUpload } from '@fairlead/api';
import { refuseForeign, withSecurityHeaders } from '../../../../server/guard.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function POST(request: Request): Promise<Response> {
  return refuseForeign(request) ?? withSecurityHeaders(await answerPageUpload(await parts(), request));
}
