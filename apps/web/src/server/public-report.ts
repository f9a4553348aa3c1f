// Answers requests for published benchmark reports, which need no sign-in. Every request asks the database, so that
// unpublishing takes effect at once; only what was rendered is kept.
import 'server-only';
import { createHash } from 'node:crypto';
import { findReport, type PublishedReport, readReportDocument } from '@fairlead/core/benchmark';
import { renderImage } from '@fairlead/report/image';
import { renderReport, reportOf } from '@fairlead/report/page';
import { REPORT_POLICY } from '@fairlead/report/style';
import { publicUrl } from './env-of-process.ts';
import { parts } from './parts.ts';

export type ReportPart = 'page' | 'rows' | 'image';

interface Rendered {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** Reports whose rendered parts are kept. One of the largest takes about 3 MB. */
const KEPT_MAX = 8;
const kept = new Map<string, Map<ReportPart, Promise<Rendered>>>();

const HEADERS: Readonly<Record<ReportPart, Readonly<Record<string, string>>>> = {
  page: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `${REPORT_POLICY}; frame-ancestors 'none'`,
  },
  rows: {
    'content-type': 'application/json',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'content-disposition': 'attachment; filename="fairlead-benchmark.json"',
  },
  image: { 'content-type': 'image/png', 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" },
};

export async function answerReport(request: Request, reportId: string, part: ReportPart): Promise<Response> {
  const { database } = await parts();
  const report = await database.system('show a published report', (tx) => findReport({ tx }, { reportId }));
  if (report === null) {
    const headers = {
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-robots-tag': 'noindex',
    };
    return new Response('There is no such report. It was unpublished, or the address is wrong.\n', {
      status: 404,
      headers,
    });
  }
  const { body, etag } = await renderedPart(report, part);
  const headers = {
    ...HEADERS[part],
    etag,
    // A shared cache must ask again, or it would show a report that was unpublished.
    'cache-control': 'no-cache',
    ...(report.isIndexed ? {} : { 'x-robots-tag': 'noindex' }),
  };
  return request.headers.get('if-none-match') === etag
    ? new Response(null, { status: 304, headers })
    : new Response(body, { headers });
}

function renderedPart(report: PublishedReport, part: ReportPart): Promise<Rendered> {
  const key = `${report.id} ${report.publishedAt.getTime()}`;
  const all = kept.get(key) ?? new Map<ReportPart, Promise<Rendered>>();
  // The least recently used one is first.
  kept.delete(key);
  kept.set(key, all);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
  const known = all.get(part);
  if (known !== undefined) return known;
  const made = render(report, part).then((body) => ({ body, etag: etagOf(body) }));
  all.set(part, made);
  made.catch(() => all.delete(part));
  return made;
}

async function render(published: PublishedReport, part: ReportPart) {
  const { id, isIndexed } = published;
  const { database } = await parts();
  const document = await database.system('render a published report', (tx) => readReportDocument({ tx }, published));
  if (part === 'rows') return `${JSON.stringify(document)}\n`;
  const report = reportOf(document);
  if (part === 'image') return renderImage(report);
  const imageUrl = new URL(`/reports/${id}/image.png`, publicUrl()).href;
  return renderReport(report, { rowsUrl: `/reports/${id}/rows.json`, imageUrl, isIndexed });
}

function etagOf(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}
