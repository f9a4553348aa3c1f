// `npm run check:generator`: compares the load generator of `fairlead-agent bench` with wrk, h2load and oha on nginx, and
// with a server that injects delays and errors. Rounds interleave the generators, so that noise affects all alike.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NGINX } from '../../tools/test/debian.ts';
import { type Comparison, compare, faults, type Load, lastLine } from './generator-figures.ts';
import { countErrors, delayErrorPercent } from './generator-injection.ts';
import { fairleadBench, type Generator, peerGenerators, type Target } from './generators.ts';
import { configured } from './peer.ts';
import { debian } from './peer-install.ts';
import { binaries, makeCertificate } from './prepare.ts';
import { stopProcess } from './processes.ts';
import { medianInterval } from './statistics.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    /** Measures an existing release build. */
    built: { type: 'boolean', default: false },
  },
});
const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)];
const note = (line: string) => console.log(line);

const { agent, stand, inject } = binaries(options.built);
const ours = fairleadBench(agent);
const peers = await peerGenerators(note);
for (const { name, version } of peers) note(`${name}: ${version}`);
const folder = mkdtempSync(join(tmpdir(), 'fairlead-generator-'));
try {
  const comparisons = await compareOnNginx();
  const setup = { agent, inject, folder, rounds, seconds, note };
  const delayError = await delayErrorPercent(setup);
  const { counted, injected } = await countErrors(setup);
  const outcome = { comparisons, delayErrorPercent: delayError, errorsCounted: counted, errorsInjected: injected };
  for (const fault of faults(outcome)) note(`FAILED: ${fault}`);
  if (faults(outcome).length > 0) process.exitCode = 1;
  note(`load of the machine ${loadavg()[0]?.toFixed(2)}`);
  note(lastLine(outcome));
} finally {
  rmSync(folder, { recursive: true });
}

/** Compares on HTTP/1.1 with and without TLS. HTTP/2 is printed but not judged. */
async function compareOnNginx(): Promise<Comparison[]> {
  const certificate = join(folder, 'certificate');
  makeCertificate(stand, certificate);
  const nginx = configured({
    name: 'nginx',
    speaks: ['http1', 'http2'],
    obtain: () => debian(NGINX.file, NGINX.packages, ['-v']),
    configs: ['nginx-static.conf'],
    args: (config, prefix) => ['-c', config, '-p', prefix],
  });
  const program = await nginx.obtain();
  note(`target: ${program.version}`);
  const running = await nginx.start(program, { folder, certificate, app: '', clients: 32 });
  try {
    const caFile = join(certificate, 'ca/ca.pem');
    const plain = { caFile, protocol: 'http1', connections: 32, streams: 1 } as const;
    const secure = { ...plain, name: 'HTTP/1.1 over TLS', secure: true, address: running.https };
    const http2 = { ...secure, name: 'HTTP/2', protocol: 'http2', connections: 2, streams: 16 } as const;
    const judged = [
      await compareTarget({ ...plain, name: 'HTTP/1.1', secure: false, address: running.http }, peers),
      await compareTarget(secure, peers),
    ];
    const h2load = peers.filter(({ name }) => name === 'h2load');
    if (h2load.length > 0) await compareTarget(http2, h2load);
    return judged;
  } finally {
    await stopProcess(running.child);
  }
}

async function compareTarget(target: Target, others: readonly Generator[]): Promise<Comparison> {
  const loads = new Map<string, Load[]>([ours, ...others].map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const generator of [ours, ...others]) {
      loads.get(generator.name)?.push(await generator.measure(target, seconds, folder));
    }
  }
  for (const [name, rows] of loads) {
    const rate = medianInterval(rows.map((row) => row.requestsPerSecond)).median;
    const cpu = medianInterval(rows.map((row) => row.cpuUsPerRequest)).median;
    note(
      `${target.name.padEnd(18)}  ${name.padEnd(8)}  ${rate.toFixed(0).padStart(8)} requests/s  ${cpu.toFixed(2)} µs`,
    );
  }
  const mine = loads.get(ours.name) ?? [];
  loads.delete(ours.name);
  const compared = compare(mine, loads);
  const text = ({ median, low, high }: Comparison['rate']) =>
    `${median.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
  note(`${target.name}: vs ${compared.best}: requests/s ${text(compared.rate)}, CPU ${text(compared.cpu)}`);
  return compared;
}
