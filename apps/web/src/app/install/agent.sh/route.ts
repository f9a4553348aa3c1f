// Serves the install script for a new server. The script is the same for everybody; the operator who runs it supplies
// the token.
import { renderInstallScript } from '../../../server/agent-download.ts';
import { parts } from '../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const { env, binaries } = await parts();
  return new Response(await renderInstallScript(env, binaries), {
    headers: { 'content-type': 'text/x-shellscript; charset=utf-8', 'cache-control': 'no-store' },
  });
}
