// `npm run check:dataplane-faults`: every fault that the data plane must survive, at its full length, under load that
// counts failures. Prints one line for each fault and a summary, in about twenty minutes; `-- --short` is the form of
// `npm test`, `-- FAULT…` selects faults.
import { parseArgs } from 'node:util';
import { run } from '../../tools/lib/command.ts';

interface Fault {
  readonly fault: string;
  readonly requests: number;
  readonly failed: number;
  readonly note: string;
}

/** Parses a fault's line; returns undefined for other output. */
function readFault(line: string): Fault | undefined {
  if (!line.startsWith('{"fault":')) return undefined;
  return JSON.parse(line) as Fault;
}

function show({ fault, requests, failed, note }: Fault): void {
  const mark = failed === 0 && requests > 0 ? '  ok  ' : ' FAIL ';
  console.log(`${mark} ${fault.padEnd(26)} ${String(requests).padStart(9)} requests, ${failed} failed · ${note}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false } },
});
const faults: Fault[] = [];
let unread = '';
// Builds the whole workspace as `npm test` does: other features would recompile the crates.
const args = ['test', '--manifest-path', 'agents/Cargo.toml', '--locked', '--quiet', '--workspace'];
const { code, output } = await run('cargo', [...args, '--test', 'survival', '--', ...positionals], {
  env: { FAIRLEAD_FAULTS: values.short ? 'short' : 'long' },
  onOutput: (chunk) => {
    const lines = (unread + chunk).split('\n');
    unread = lines.pop() ?? '';
    for (const fault of lines.map(readFault)) {
      if (fault === undefined) continue;
      faults.push(fault);
      show(fault);
    }
  },
});
const requests = faults.reduce((sum, fault) => sum + fault.requests, 0);
let failed = faults.reduce((sum, fault) => sum + fault.failed, 0);
// A suite that ended early has proved nothing: count it as failed.
if (failed === 0 && (code !== 0 || faults.length === 0)) failed = 1;
if (failed > 0) console.log(output.trimEnd().split('\n').slice(-60).join('\n'));
console.log(`faults ${faults.length}, requests ${requests}, failed ${failed}`);
process.exit(failed > 0 ? 1 : 0);
