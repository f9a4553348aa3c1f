import { answerReport } from '../../../../server/public-report.ts';

export const dynamic = 'force-dynamic';

interface Context {
  readonly params: Promise<{ readonly reportId: string }>;
}

export async function GET(request: Request, { params }: Context): Promise<Response> {
  return answerReport(request, (await params).reportId, 'image');
}
