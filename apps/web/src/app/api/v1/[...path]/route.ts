// The HTTP API for programs. proxy.ts does not see its uploads, so the headers are set here.
import { answerHttp } from '@fairlead/api';
import { withSecurityHeaders } from '../../../../server/guard.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  return withSecurityHeaders(await answerHttp(await parts(), request));
}

export { handle as GET, handle as POST };
