// Result of the install check: a line for each step, and the counts of its last line.
import type { Visits } from './visits.ts';

let [steps, failed, lost] = [0, 0, 0];

export async function step(name: string, work: () => Promise<string>): Promise<void> {
  steps++;
  const startedAt = performance.now();
  const took = () => seconds(performance.now() - startedAt);
  try {
    console.log(`ok   ${name}: ${await work()} (${took()})`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${error instanceof Error ? error.message : String(error)} (${took()})`);
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Adds to the lost requests. */
export function count({ answered, reasons }: Visits): string {
  lost += reasons.length;
  if (answered === 0) throw new Error('no request of the visitor was answered');
  return `${answered} requests, ${reasons.length} lost${reasons.length === 0 ? '' : ` (${[...new Set(reasons)].join(', ')})`}`;
}

/** Prints the last line. Returns false if anything failed or was lost. */
export function report(): boolean {
  console.log(`steps ${steps}, failed ${failed}, requests lost ${lost}`);
  return failed === 0 && lost === 0 && steps > 0;
}
