// h2spec in strict mode against the proxy, over TLS. Built once from the Go module that h2spec/go.mod pins.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import { GO, requirePrograms } from '../../tools/test/debian.ts';
import { cacheFolder } from './folders.ts';
import { startProxy } from './proxy-under-test.ts';
import type { Case, SuiteResult } from './result.ts';

const MODULE = join(import.meta.dirname, 'h2spec');

/** Returns h2spec's binary, or why there is none. */
async function build(): Promise<{ readonly file: string } | { readonly missing: string }> {
  const file = join(cacheFolder('h2spec'), 'h2spec');
  if (existsSync(file)) return { file };
  const inPath = (await run('go', ['version'])).code === 0;
  const missing = inPath ? undefined : await requirePrograms([GO]);
  if (missing !== undefined) return { missing };
  const env = { GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' };
  const args = ['build', '-o', file, 'github.com/summerwind/h2spec/cmd/h2spec'];
  const built = await run(inPath ? 'go' : GO.file, args, { cwd: MODULE, env });
  return built.code === 0 ? { file } : { missing: `go could not build it:\n${built.output.trimEnd()}` };
}

const CASE = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g;

/** Parses the cases of a JUnit report; skipped ones count as failed. */
function readReport(xml: string): Case[] {
  const seen = new Map<string, number>();
  return [...xml.matchAll(CASE)].map(([, section, title, inside]) => {
    const name = `h2spec/${section}/${title}`.replaceAll('&#34;', '"');
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return { name: times === 1 ? name : `${name} (${times})`, passed: !/<(failure|error|skipped)/.test(inside ?? '') };
  });
}

export async function runH2spec(program: string): Promise<SuiteResult> {
  const suite = 'h2spec';
  const h2spec = await build();
  if ('missing' in h2spec) return { suite, cases: [], notRun: h2spec.missing };
  const proxy = await startProxy(program);
  try {
    const report = join(cacheFolder('h2spec'), 'report.xml');
    const args = ['--tls', '--insecure', '--strict', '--host', 'localhost', '--port', String(proxy.httpsPort)];
    const { code, output } = await run(h2spec.file, [...args, '--timeout', '10', '--junit-report', report]);
    const cases = existsSync(report) ? readReport(readFileSync(report, 'utf8')) : [];
    const unexplained = cases.length === 0 || (code !== 0 && cases.every(({ passed }) => passed));
    return { suite, cases: unexplained ? [{ name: 'h2spec/runs-to-its-end', passed: false }] : cases, output };
  } finally {
    await proxy.stop();
  }
}
