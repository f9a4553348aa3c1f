// `npm run perf:control`: measures the limits of the control plane and the idle agent. Exits with 1 when one is
// exceeded. Run it on an idle machine.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureControlPlane } from './control-plane.ts';
import { measureFirstLoad } from './first-load.ts';
import { measurePages } from './pages.ts';
import { formatTable, type Measurement } from './table.ts';

const note = (line: string) => console.log(`  …  ${line}`);

const folder = mkdtempSync(join(tmpdir(), 'fairlead-perf-'));
chmodSync(folder, 0o711);
console.log(`${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown processor'}, load ${loadavg()[0]?.toFixed(2)}`);
let rows: Measurement[];
try {
  rows = [
    ...(await measureControlPlane(join(folder, 'data'), note)),
    ...(await measurePages(note)),
    // Runs after the starts, which build the web app.
    ...(await measureFirstLoad()),
  ];
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`\n${formatTable(rows)}`);
if (rows.some((row) => !row.kept)) process.exit(1);
