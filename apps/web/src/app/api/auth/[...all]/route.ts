// Sessions over HTTP: sign-in and sign-out. Everything else of identity stays closed in packages/auth.
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  const { auth } = await parts();
  return auth.handler(request);
}

export { handle as GET, handle as POST };
