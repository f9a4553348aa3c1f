// Serves the tRPC API over HTTP.
import { answerRequest } from '@fairlead/api';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  return answerRequest(await parts(), request);
}

export { handle as GET, handle as POST };
