// Sign-in and sign-out over HTTP. All other auth routes stay closed in packages/auth.
import { answerAuth } from '@fairlead/api';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  return answerAuth(await parts(), request);
}

export { handle as GET, handle as POST };
