// Serves the HTTP API for programs. Sets the security headers itself, because proxy.ts does not see uploads.
import { answerHttp } from '@fairlead/api';
import { withSecurityHeaders } from '../../../../server/guard.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  return withSecurityHeaders(await answerHttp(await parts(), request));
}

export { handle as GET, handle as POST };
