// Receives deliveries to the webhook of a GitHub App or of one app. Sets the headers itself, because proxy.ts would make
// Next buffer the bodies and cut them off at 10 MB.
import { withSecurityHeaders } from '../../../../server/guard.ts';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function POST(request: Request, { params }: { params: Promise<{ endpoint: string }> }): Promise<Response> {
  const { webhooks } = await parts();
  const { endpoint } = await params;
  return withSecurityHeaders(await webhooks.answer(endpoint, request));
}
