// Serves the agent binary that the install script downloads, and its signature for people who verify it.
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { type AgentBinary, isAgentTarget } from '../../../../server/install/agent-binaries.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

const SIGNATURE = /\.minisig$/;

interface Context {
  readonly params: Promise<{ readonly target: string }>;
}

export async function GET(_request: Request, { params }: Context): Promise<Response> {
  const { target } = await params;
  const name = target.replace(SIGNATURE, '');
  const binary = isAgentTarget(name) ? await (await parts()).binaries.find(name) : null;
  if (binary === null) return new Response('there is no agent for this kind of machine here\n', { status: 404 });
  if (target !== name) return signatureOf(binary);
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

function signatureOf({ signature }: AgentBinary): Response {
  if (signature === '') return new Response('this agent is not signed: it is a development build\n', { status: 404 });
  return new Response(signature, { headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' } });
}
