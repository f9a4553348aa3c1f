// Receives a folder that a page uploads. Calls the guard itself, because proxy.ts does not see uploads.
import { answerPageUpload } from '@fairlead/api';
import { refuseCrossSite, withSecurityHeaders } from '../../../../server/guard.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function POST(request: Request): Promise<Response> {
  return refuseCrossSite(request) ?? withSecurityHeaders(await answerPageUpload(await parts(), request));
}
