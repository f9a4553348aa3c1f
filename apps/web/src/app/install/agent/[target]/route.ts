// Serves the agent binary that the install script downloads.
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { isAgentTarget } from '../../../../server/install/agent-binaries.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

interface Context {
  readonly params: Promise<{ readonly target: string }>;
}

export async function GET(_request: Request, { params }: Context): Promise<Response> {
  const { target } = await params;
  const binary = isAgentTarget(target) ? await (await parts()).binaries.find(target) : null;
  if (binary === null) return new Response('there is no agent for this kind of machine here\n', { status: 404 });
  const body = Readable.toWeb(createReadStream(binary.path)) as ReadableStream<Uint8Array>;
  return new Response(body, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(binary.sizeBytes),
      'x-fairlead-sha256': binary.sha256,
      'cache-control': 'no-store',
    },
  });
}
