// `npm run perf:proxy`: CPU per request of Fairlead's proxy beside Debian's nginx: one certificate, TLS 1.3, AES-128-GCM,
// keepalive, two workers, one small app behind both, in interleaved rounds. Prints a table; `-- --json FILE` saves the cells.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { treeOf } from './process-figures.ts';
import { comparisons, formatComparisons, type Row } from './proxy-report.ts';
import { freePort, listening, serving, stopped } from './stand.ts';

const root = join(import.meta.dirname, '../..');
const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
  },
});

function note(line: string): void {
  console.log(`  …  ${line}`);
}

function buildBinaries(): { agent: string; stand: string } {
  const cargo = ['build', '--release', '--manifest-path', join(root, 'agents/Cargo.toml')];
  execFileSync('cargo', [...cargo, '-p', 'fairlead-agent'], { stdio: 'inherit' });
  execFileSync('cargo', [...cargo, '-p', 'fairlead-proxy', '--example', 'stand'], { stdio: 'inherit' });
  const release = join(process.env.CARGO_TARGET_DIR ?? join(root, 'agents/target'), 'release');
  return { agent: join(release, 'fairlead-agent'), stand: join(release, 'examples/stand') };
}

function pem(kind: string, der: Buffer): string {
  return `-----BEGIN ${kind}-----\n${der
    .toString('base64')
    .replace(/(.{64})/g, '$1\n')
    .trimEnd()}\n-----END ${kind}-----\n`;
}

const { agent, stand } = buildBinaries();
const missing = await requirePrograms([NGINX]);
if (missing !== undefined) throw new Error(missing);
const folder = mkdtempSync(join(tmpdir(), 'fairlead-perf-'));
const children = [];
try {
  const app = await serving(stand, ['app', '13']);
  children.push(app.child);
  const fairlead = await serving(stand, ['proxy', agent, folder, app.address]);
  children.push(fairlead.child);
  writeFileSync(join(folder, 'leaf.pem'), pem('CERTIFICATE', readFileSync(join(folder, 'leaf.der'))));
  writeFileSync(join(folder, 'leaf-key.pem'), pem('PRIVATE KEY', readFileSync(join(folder, 'leaf-key.der'))), {
    mode: 0o600,
  });
  const peerAddress = `127.0.0.1:${await freePort()}`;
  const fill: Record<string, string> = { WORKERS: '2', LISTEN: peerAddress, APP: app.address, FOLDER: folder };
  const template = readFileSync(join(import.meta.dirname, 'nginx.conf'), 'utf8');
  writeFileSync(
    join(folder, 'nginx.conf'),
    template.replace(/@([A-Z]+)@/g, (_, name: string) => fill[name] ?? ''),
  );
  const peer = await listening(NGINX.file, ['-c', join(folder, 'nginx.conf'), '-p', folder], peerAddress);
  children.push(peer);
  if (fairlead.pid === undefined || peer.pid === undefined) throw new Error('a proxy has no process id.');

  const version = spawnSync(NGINX.file, ['-v'], { encoding: 'utf8' }).stderr.trim();
  const model = cpus()[0]?.model ?? 'unknown processor';
  console.log(`${version}; ${availableParallelism()} × ${model}; load ${loadavg()[0]?.toFixed(2)}`);
  const rows: Row[] = [];
  for (const protocol of ['http1', 'http2']) {
    const common = { url: 'https://bench.localhost/', ca_file: join(folder, 'ca/ca.pem'), protocol };
    const plan = {
      contenders: [
        { ...common, name: 'nginx', connect: peerAddress, pids: treeOf(peer.pid) },
        { ...common, name: 'fairlead', connect: fairlead.address, pids: [fairlead.pid] },
      ],
      concurrency: protocol === 'http1' ? [32, 200, 1000] : [32],
      repeats: Number(options.rounds),
      duration_ms: Number(options.seconds) * 1000,
      warmup_ms: 500,
    };
    const planFile = join(folder, `${protocol}.json`);
    writeFileSync(planFile, JSON.stringify(plan));
    note(`measuring ${protocol}: ${plan.repeats} rounds of ${plan.concurrency.join(', ')} clients`);
    const bench = execFileSync(agent, ['bench', '--plan', planFile, '--json'], { encoding: 'utf8' });
    rows.push(
      ...bench
        .trim()
        .split('\n')
        .map((line): Row => JSON.parse(line)),
    );
  }
  const cells = comparisons(rows);
  console.log(`\n${formatComparisons(cells)}`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ cells }, null, 2)}\n`);
} finally {
  await Promise.all(children.reverse().map(stopped));
  rmSync(folder, { recursive: true });
}
