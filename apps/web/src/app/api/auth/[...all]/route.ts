// Sessions over HTTP: sign-in and sign-out. Everything else of identity stays closed in packages/auth.
import { answerAuth } from '@fairlead/api';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  return answerAuth(await parts(), request);
}

export { handle as GET, handle as POST };
