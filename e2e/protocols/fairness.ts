// The short form of `npm run check:fairness` as a suite: each transfer and each cell is a case. Asserts no latency.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAgent } from '../../tools/start/builds.ts';
import { checkFairness } from '../fairness/check.ts';
import { buildClient } from '../fairness/testbed.ts';
import type { SuiteResult } from './result.ts';

export async function runFairness(): Promise<SuiteResult> {
  const suite = 'fairness';
  const client = await buildClient().catch((error: unknown) => error);
  if (client instanceof Error) return { suite, cases: [], notRun: `its client needs Go: ${client.message}` };
  const agent = await buildAgent(() => undefined);
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-fairness-'));
  const notes: string[] = [];
  try {
    const note = (line: string) => notes.push(line);
    const { cells, transfers } = await checkFairness({ agent, folder, long: false, note });
    const cases = [
      ...transfers.map(({ name, fault }) => ({ name: `${suite}/${name}`, passed: fault === undefined })),
      ...cells.map(({ name, starved, failed }) => ({ name: `${suite}/${name}`, passed: !starved && failed === 0 })),
    ];
    return { suite, cases, output: notes.join('\n') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
