// `npm run check:install`: installs a release on a Debian 11 with only its base, updates it, lets an update fail, and
// uninstalls it. Last line: `steps S, failed F`.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ROOT } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { fileNames, TARGETS, type Target } from '../../tools/release/targets.ts';
import { copyRoot, makeRoot } from '../release/root.ts';
import { Machine } from './machine.ts';
import { breakAfterMigration, repack } from './releases.ts';

// Needs root, an x64 machine, and debootstrap, minisign, iproute2 and curl of Debian; `-- --from DIR` names the files of
// `npm run release`, `--folder F` keeps what debootstrap fetched for the next run.

const DATA = '/var/lib/fairlead-control-plane';
const URL_INSIDE = 'http://localhost:4400';
const WATCH_PAUSE_MS = 100;
const SIGN_IN = 'Welcome back.';

const { values } = parseArgs({ options: { from: { type: 'string' }, folder: { type: 'string' } } });
const dist = resolve(process.env.INIT_CWD ?? process.cwd(), values.from ?? 'dist');
// Other users pass through it: PostgreSQL has a user of its own.
const scratch = mkdtempSync('/var/tmp/fairlead-check-install-');
const undo: Undo[] = [async () => rmSync(scratch, { recursive: true, force: true })];
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const [target] = TARGETS as [Target];
const [first, second, broken] = [`${version}`, `${version}.1`, `${version}.2`];
let [steps, failed] = [0, 0];
let setupToken = '';

async function step(name: string, work: () => Promise<string>): Promise<void> {
  steps++;
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
  console.log('  …  three releases and a Debian 11');
  const root = await copyRoot(await makeRoot(values.folder ?? scratch, 'amd64'), join(scratch, 'root'));
  const archive = join(dist, fileNames.controlPlane(version, target));
  for (const each of [first, second]) await repack({ archive, target, to: join(root, 'root', each), version: each });
  await repack({ archive, target, to: join(root, 'root', broken), version: broken, change: breakAfterMigration });
  const machine = await Machine.boot(root);
  undo.push(() => machine.stop());

  await step('install', () => install(machine));
  await step('settings', async () => checkSettings(machine));
  await step('set-up and sign-in page', () => setUp(machine));
  await step('second installation', () => installAgain(machine));
  await step('update', () => update(machine));
  await step('forged update', () => refuseForged(machine));
  await step('failed update and the way back', () => failUpdate(machine));
  await step('uninstall', () => uninstall(machine));
  await step('installation on kept data', () => reinstall(machine));
  await step('uninstall with data', () => deleteData(machine));
} finally {
  await undoAll(undo);
}
console.log(`steps ${steps}, failed ${failed}`);
process.exitCode = failed === 0 && steps > 0 ? 0 : 1;

function installer(each: string): string[] {
  return ['sh', `/root/${each}/install.sh`, '--from', `/root/${each}`, '--yes', '--email', 'ops@example.com'];
}

async function install(machine: Machine): Promise<string> {
  const said = await machine.must(installer(first));
  setupToken = /setup#token=(\S+)/.exec(said)?.[1] ?? '';
  if (setupToken === '') throw new Error(`it prints no set-up link:\n${said}`);
  if (!/SHA-256 ([0-9a-f]{2}:){31}/.test(said)) throw new Error(`it prints no fingerprint:\n${said}`);
  await requireVersion(machine, first);
  return 'it prints the set-up link and the fingerprint';
}

function checkSettings(machine: Machine): string {
  const file = join(machine.root, 'etc/fairlead/fairlead.toml');
  const { mode, uid, gid } = statSync(file);
  const group = Number(/^fairlead:[^:]*:(\d+):/m.exec(machine.read('etc/group'))?.[1]);
  if ((mode & 0o777) !== 0o640 || uid !== 0 || gid !== group)
    throw new Error('fairlead.toml is not 0640 root:fairlead');
  if (!machine.read('etc/fairlead/fairlead.toml').includes('mailto:ops@example.com')) throw new Error('no contact');
  return 'mode 0640, root:fairlead';
}

async function setUp(machine: Machine): Promise<string> {
  await machine.inNetwork([nodeOf(ROOT), join(import.meta.dirname, 'claim.ts'), URL_INSIDE, setupToken]);
  return requireSignIn(machine);
}

async function installAgain(machine: Machine): Promise<string> {
  const [before, process] = [machine.read('run/systemctl-calls'), machine.read('run/fairlead.pid')];
  const said = await machine.must(installer(first));
  if (!said.includes('runs already')) throw new Error(said);
  const calls = machine.read('run/systemctl-calls').slice(before.length);
  if (/start|stop|reload/.test(calls) || process !== machine.read('run/fairlead.pid')) throw new Error(calls);
  return 'nothing restarted';
}

async function update(machine: Machine): Promise<string> {
  const proxy = await proxyOf(machine);
  const startedAt = performance.now();
  const watch = await watchDashboard(machine);
  await machine.must(['fairlead', 'update', '--from', `/root/${second}`]);
  const updateMs = performance.now() - startedAt;
  const awayMs = watch.stop();
  await requireVersion(machine, second);
  if (proxy !== (await proxyOf(machine))) throw new Error('the proxy is not the process from before');
  const page = await requireSignIn(machine);
  return `${page}, the proxy kept running; ${seconds(updateMs)}, of these ${seconds(awayMs)} without a dashboard`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Measures how long the dashboard did not answer. */
async function watchDashboard(machine: Machine): Promise<{ stop(): number }> {
  let [awayMs, isStopped] = [0, false];
  let lastAnswer = performance.now();
  const ask = async (): Promise<void> => {
    while (!isStopped) {
      const isThere = await machine
        .inNetwork(['curl', '-fs', '-m', '2', '-o', '/dev/null', `${URL_INSIDE}/healthz`])
        .then(
          () => true,
          () => false,
        );
      if (isThere) {
        awayMs = Math.max(awayMs, performance.now() - lastAnswer);
        lastAnswer = performance.now();
      }
      await delay(WATCH_PAUSE_MS);
    }
  };
  void ask();
  return {
    stop() {
      isStopped = true;
      return awayMs;
    },
  };
}

async function refuseForged(machine: Machine): Promise<string> {
  await machine.must(['sh', '-c', `cp -r /root/${broken} /root/forged && echo '# x' >>/root/forged/SHA256SUMS`]);
  const { code, output } = await machine.run(['fairlead', 'update', '--from', '/root/forged']);
  if (code === 0 || !output.includes('signature of SHA256SUMS is wrong')) throw new Error(output);
  await requireVersion(machine, second);
  return requireSignIn(machine);
}

async function failUpdate(machine: Machine): Promise<string> {
  const proxy = await proxyOf(machine);
  const { code, output } = await machine.run(['fairlead', 'update', '--from', `/root/${broken}`]);
  if (code === 0 || !output.includes(`${second} runs again`)) throw new Error(output);
  if (!output.includes('broken on purpose')) throw new Error(`it does not say why:\n${output}`);
  await requireVersion(machine, second);
  if (proxy !== (await proxyOf(machine))) throw new Error('the proxy is not the process from before');
  const names = await tables(machine);
  if (!names.includes('server')) throw new Error(`the database has no tables of Fairlead: ${names}`);
  if (names.includes('install_check')) throw new Error('the database is the one of the failed version');
  return `${await requireSignIn(machine)}, the database is the former one`;
}

/** Lists the tables of the running database, with the release's own driver. */
async function tables(machine: Machine): Promise<string> {
  const script = `
    import pg from '/opt/fairlead/current/node_modules/pg/lib/index.js';
    import { findRunning } from '/opt/fairlead/current/packages/db/src/embedded.ts';
    const client = new pg.Client({ connectionString: await findRunning('${DATA}/postgres') });
    await client.connect();
    const { rows } = await client.query("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')");
    console.log(rows.map(({ relname }) => relname.toLowerCase()).join(' '));
    await client.end();`;
  const node = `/opt/fairlead/current/node_modules/node-${target.name}/bin/node`;
  return machine.must([node, '--input-type=module', '--eval', script]);
}

async function uninstall(machine: Machine): Promise<string> {
  await machine.must(['fairlead', 'uninstall']);
  for (const path of ['opt/fairlead', 'usr/local/bin/fairlead', 'etc/systemd/system/fairlead.service'])
    if (machine.has(path)) throw new Error(`${path} is still there`);
  if (!machine.has(`${DATA}/secrets/master-key`)) throw new Error('the data is gone');
  const left = (await machine.must(['sh', '-c', 'readlink /proc/[0-9]*/exe || true'])).match(/\S*fairlead\S*/g);
  if (left !== null) throw new Error(`processes are left: ${left.join(', ')}`);
  return 'no program and no process is left, the data is';
}

async function reinstall(machine: Machine): Promise<string> {
  await machine.must(installer(second));
  // Without the account, this page leads to the set-up.
  return requireSignIn(machine);
}

async function deleteData(machine: Machine): Promise<string> {
  const refused = await machine.run(['fairlead', 'uninstall', '--delete-data', '--yes'], 'yes\n');
  if (refused.code === 0 || !machine.has('opt/fairlead/current')) throw new Error('it does not ask for the words');
  await machine.must(['fairlead', 'uninstall', '--delete-data'], 'delete all data\n');
  for (const path of [DATA, '/etc/fairlead', '/var/backups/fairlead', '/opt/fairlead'])
    if (machine.has(path)) throw new Error(`${path} is still there`);
  return 'only after the typed words';
}

async function requireVersion(machine: Machine, wanted: string): Promise<void> {
  const said = await machine.must(['fairlead', 'version']);
  if (!said.includes(`fairlead ${wanted} `)) throw new Error(`fairlead version prints ${said}`);
}

async function requireSignIn(machine: Machine): Promise<string> {
  const page = await machine.inNetwork(['curl', '-fsSL', `${URL_INSIDE}/sign-in`]);
  if (!page.includes(SIGN_IN)) throw new Error(`the sign-in page does not say "${SIGN_IN}"`);
  return `sign-in page of ${page.length} bytes`;
}

/** Process ids of the local proxy. */
async function proxyOf(machine: Machine): Promise<string> {
  const script = `for p in /proc/[0-9]*; do
    case "$(readlink $p/exe) $(tr '\\0' ' ' <$p/cmdline)" in ${DATA}/*' proxy '*) echo \${p#/proc/} ;; esac
  done`;
  const ids = (await machine.must(['sh', '-c', script])).trim();
  if (ids === '') throw new Error('no proxy runs');
  return ids;
}
