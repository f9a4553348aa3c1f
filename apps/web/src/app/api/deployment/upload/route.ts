// A folder that a page uploads.
import { answerPageUpload } from '@fairlead/api';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

export async function POST(request: Request): Promise<Response> {
  return answerPageUpload(await parts(), request);
}
