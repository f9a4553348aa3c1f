// The install script for a new server. The same for everybody; the token comes from whoever runs it.
import { renderInstallScript } from '../../../server/agent-download.ts';
import { parts } from '../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const { env, binaries } = await parts();
  return new Response(await renderInstallScript(env, binaries), {
    headers: { 'content-type': 'text/x-shellscript; charset=utf-8', 'cache-control': 'no-store' },
  });
}
