// The HTTP API for programs.
import { answerHttp } from '@fairlead/api';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  return answerHttp(await parts(), request);
}

export { handle as GET, handle as POST };
