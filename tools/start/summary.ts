// Summary for the user when everything runs.
import type { BenchmarkDetail, BenchmarkRowView } from '@fairlead/core/benchmark';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { isLocalUrl } from '@fairlead/settings';
import { formatElapsed } from './progress.ts';

export interface Summary {
  readonly publicUrl: string;
  /** Address at the local agent's proxy; undefined if that does not serve the dashboard. */
  readonly controlUrl: string | undefined;
  readonly settingsFile: string | undefined;
  readonly setupToken: string | null;
  /** Authority of the public URL's certificate; undefined if this machine's agent does not serve that URL. */
  readonly publicAuthority: { readonly file: string; readonly fingerprint: string } | undefined;
  readonly app: SampleSummary;
  readonly folders: { readonly data: string; readonly logs: string; readonly caFile: string };
  /** Closed folder that data would be in by default; undefined if it is not closed. */
  readonly insteadOf: string | undefined;
  readonly copied: readonly string[];
  readonly isolationOff: readonly string[];
  readonly elapsedMs: number;
}

export type SampleSummary =
  | {
      readonly kind: 'live';
      readonly url: string;
      readonly deployment: DeploymentDetail;
      readonly benchmark: BenchmarkDetail | undefined;
    }
  | { readonly kind: 'down'; readonly reason: string }
  | { readonly kind: 'none' };

const LABEL_WIDTH = 12;

export function formatSummary(summary: Summary): string {
  const { publicUrl, controlUrl, setupToken, app, folders } = summary;
  const overHttps = controlUrl === undefined ? [] : [`${controlUrl} (over HTTP/2)`];
  const rows: [label: string, ...lines: string[]][] = [['Dashboard', publicUrl, ...overHttps]];
  if (isLocalUrl(publicUrl)) {
    rows.push([
      'Warning',
      'Only this machine reaches these addresses: invitations and new servers do not work elsewhere.',
      'To change that: npm start -- --public-url https://fairlead.example.com (docs/settings.md)',
    ]);
  }
  if (setupToken !== null) {
    rows.push([
      'Setup',
      `${publicUrl}/setup#token=${setupToken}`,
      'This one-time token makes the first account the owner.',
    ]);
  }
  if (app.kind === 'down') rows.push(['App', app.reason]);
  if (app.kind === 'live')
    rows.push(['App', app.url, describeDeployment(app.deployment)], ...describeBenchmark(app.benchmark));
  rows.push(['Certificate', `${folders.caFile} (trust it in your browser for the https addresses)`]);
  if (summary.publicAuthority !== undefined) {
    const { file, fingerprint } = summary.publicAuthority;
    rows.push(['Authority', `${file} (of the public URL; browsers elsewhere need it too)`, `SHA-256 ${fingerprint}`]);
  }
  rows.push(['Data', folders.data], ['Logs', folders.logs]);
  if (summary.settingsFile !== undefined) rows.push(['Settings', summary.settingsFile]);
  if (summary.insteadOf !== undefined) {
    const copies = summary.copied.length > 0 ? ` Copied there too: ${summary.copied.join(', ')}.` : '';
    rows.push(['Note', `${summary.insteadOf} is closed to other users, so data lies elsewhere.${copies}`]);
  }
  if (summary.isolationOff.length > 0) rows.push(['Off', ...summary.isolationOff]);
  const lines = rows.flatMap(([label, ...texts]) =>
    texts.map((text, index) => `  ${(index === 0 ? label : '').padEnd(LABEL_WIDTH)}${text}`),
  );
  return [
    '',
    `  Fairlead is up, after ${formatElapsed(summary.elapsedMs)}.`,
    '',
    ...lines,
    '',
    '  Ctrl-C stops everything.',
    '',
  ].join('\n');
}

function describeDeployment({ durationMs, commitHash, commitSubject, releaseNumber }: DeploymentDetail): string {
  const took = durationMs === null ? '' : `deployed in ${(durationMs / 1000).toFixed(1)} s, `;
  const subject = commitSubject === null ? '' : ` “${commitSubject}”`;
  return `${took}release ${releaseNumber ?? '?'} from commit ${commitHash?.slice(0, 7) ?? '?'}${subject}`;
}

function describeBenchmark(benchmark: BenchmarkDetail | undefined): [string, ...string[]][] {
  if (benchmark === undefined) return [];
  if (benchmark.state !== 'succeeded')
    return [['Measured', benchmark.failureMessage ?? `the benchmark is ${benchmark.state}`]];
  return [['Measured', ...benchmark.rows.map(describeRow)]];
}

function describeRow(row: BenchmarkRowView): string {
  const where = row.target === 'proxy' ? 'through the proxy' : 'the app directly';
  const protocols = {
    http1: 'HTTP/1.1',
    http2: 'HTTP/2',
    http3: 'HTTP/3',
    'http1-cleartext': 'HTTP/1.1 without TLS',
    grpc: 'gRPC',
  };
  const protocol = protocols[row.protocol];
  const rate = Math.round(row.requestsPerSecond).toLocaleString('en-US').padStart(7);
  const errors = row.errors === 0 ? '' : `, ${row.errors} errors`;
  return `${rate} requests/s, p50 ${ms(row.p50Ms)}, p99 ${ms(row.p99Ms)} ${where} (${protocol}, ${row.concurrency} connections)${errors}`;
}

function ms(value: number | null): string {
  return value === null ? '–' : `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;
}
