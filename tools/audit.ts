// `npm run audit`: queries the advisory databases for every locked dependency. Exits with 1 on a finding and 2 when a
// database was unreachable; never reports "clean" without an answer.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './lib/command.ts';

type Answer =
  | { readonly kind: 'clean'; readonly asked: number }
  | { readonly kind: 'findings'; readonly findings: readonly string[] }
  | { readonly kind: 'not reached'; readonly why: string };

const OSV_URL = 'https://api.osv.dev/v1/querybatch';
const OSV_BATCH_MAX = 500;
const TIMEOUT_MS = 20_000;

interface NpmAudit {
  readonly error?: { readonly code?: string; readonly summary?: string };
  readonly message?: string;
  readonly vulnerabilities?: Readonly<
    Record<string, { severity: string; range: string; via: readonly (string | { title: string; url: string })[] }>
  >;
  readonly metadata?: { readonly dependencies?: { readonly total?: number } };
}

async function askNpm(): Promise<Answer> {
  const result = await run('npm', ['audit', '--json', '--audit=true']);
  let report: NpmAudit;
  try {
    report = JSON.parse(result.stdout) as NpmAudit;
  } catch {
    return { kind: 'not reached', why: result.output.trim().split('\n')[0] ?? 'npm audit said nothing' };
  }
  const asked = report.metadata?.dependencies?.total;
  if (report.vulnerabilities === undefined || asked === undefined || report.error !== undefined) {
    return { kind: 'not reached', why: report.error?.summary || report.message || 'npm audit gave no report' };
  }
  const findings = Object.entries(report.vulnerabilities).map(([name, { severity, range, via }]) => {
    const titles = via.map((cause) => (typeof cause === 'string' ? cause : `${cause.title} ${cause.url}`));
    return `${severity}: ${name} ${range}: ${titles.join('; ')}`;
  });
  return findings.length > 0 ? { kind: 'findings', findings } : { kind: 'clean', asked };
}

async function askCargo(): Promise<Answer> {
  const lock = readFileSync(join(ROOT, 'agents/Cargo.lock'), 'utf8');
  const crates = [...lock.matchAll(/^name = "(.+)"\nversion = "(.+)"\nsource = /gm)].map(
    ([, name = '', version = '']) => ({ name, version }),
  );
  const findings: string[] = [];
  for (let start = 0; start < crates.length; start += OSV_BATCH_MAX) {
    const batch = crates.slice(start, start + OSV_BATCH_MAX);
    const queries = batch.map(({ name, version }) => ({ version, package: { name, ecosystem: 'crates.io' } }));
    try {
      const response = await fetch(OSV_URL, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ queries }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) return { kind: 'not reached', why: `${OSV_URL} answered ${response.status}` };
      const { results } = (await response.json()) as { results?: readonly { vulns?: readonly { id: string }[] }[] };
      if (results?.length !== batch.length) return { kind: 'not reached', why: `${OSV_URL} gave an incomplete answer` };
      results.forEach(({ vulns = [] }, index) => {
        const crate = batch[index];
        for (const { id } of vulns) findings.push(`${id}: ${crate?.name} ${crate?.version}: https://osv.dev/${id}`);
      });
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { kind: 'not reached', why: `${OSV_URL}: ${cause instanceof Error ? cause.message : String(cause)}` };
    }
  }
  return findings.length > 0 ? { kind: 'findings', findings } : { kind: 'clean', asked: crates.length };
}

const answers = { npm: await askNpm(), cargo: await askCargo() };
for (const [name, answer] of Object.entries(answers)) {
  if (answer.kind === 'clean') console.log(`${name}: clean (${answer.asked} packages asked)`);
  else if (answer.kind === 'not reached') console.log(`${name}: not reached: ${answer.why}`);
  else for (const finding of answer.findings) console.log(`${name}: ${finding}`);
}
const kinds = Object.values(answers).map((answer) => answer.kind);
process.exit(kinds.includes('findings') ? 1 : kinds.includes('not reached') ? 2 : 0);
