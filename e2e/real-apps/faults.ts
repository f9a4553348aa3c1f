// `npm run check:real-apps-faults`: deploys public repositories beside an app under load, with the network cut during an install,
// and on a full disk (docs/proofs/real-apps.md#under-faults). Needs root and nftables.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { ROOT } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { buildAgent, generateClient } from '../../tools/start/builds.ts';
import { REAL_APPS } from './list.ts';
import { nameOf, type RealApp } from './real-app.ts';

const NEIGHBOURED = [
  'render-examples/express-hello-world',
  'render-examples/flask-hello-world',
  'railwayapp-templates/gin',
  'vitejs/vite/packages/create-vite/template-react',
  'gabrielecirulli/2048',
];
const CUT = 'h5bp/html5-boilerplate';
const LARGE = 'CorentinTh/it-tools';
const IMAGE_BYTES = 6 * 1024 ** 3;
/** Free space above the server's build reserve, too little for the packages of the large app. */
const FREE_BYTES = 450 * 1024 ** 2;
const CUT_TABLE = 'fairlead_check_cut';

const { values } = parseArgs({ options: { mirror: { type: 'string' } } });
const options = { mirrorFolder: values.mirror, healthySeconds: 1 };

await generateClient(() => undefined);
await buildAgent(() => undefined);
// These modules load the client that was just generated.
const { System } = await import('../system/harness/system.ts');
const { loaded } = await import('../system/harness/apps.ts');
const { beginApp, deployApp } = await import('./run-app.ts');

const problems: string[] = [];
let deployments = 0;
mkdirSync(join(ROOT, '.fairlead'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.fairlead/disk-'));
// PostgreSQL runs as a user of its own.
chmodSync(folder, 0o755);
const [image, parent] = [join(folder, 'image'), join(folder, 'd')];
mkdirSync(parent);
try {
  command('truncate', '--size', String(IMAGE_BYTES), image);
  command('mkfs.ext4', '-q', image);
  command('mount', '-o', 'loop', image, parent);
  try {
    await check();
  } finally {
    spawnSync('nft', ['delete', 'table', 'inet', CUT_TABLE]);
    command('umount', parent);
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function check(): Promise<void> {
  const system = await System.start({ parent });
  try {
    const repository = await system.repositories.create('neighbour', loaded('here'));
    const { state, failureMessage } = await system.createApp('neighbour', repository);
    if (state !== 'live') throw new Error(`the neighbour is not live: ${failureMessage}`);
    const load = system.load('neighbour');
    await load.more(5);
    for (const [index, name] of NEIGHBOURED.entries()) await deployBeside(name, index);
    await deployWithoutNetwork();
    await deployOnFullDisk();
    await load.more(5);
    const { requests, failures } = await load.stop();
    for (const { kind, reason } of failures.slice(0, 10)) console.log(`FAIL neighbour, ${kind}: ${reason}`);
    for (const problem of problems) console.log(`FAIL ${problem}`);
    console.log(
      `deployments ${deployments}, neighbour's requests ${requests}, failed ${failures.length}, problems ${problems.length}`,
    );
    process.exitCode = failures.length + problems.length === 0 && deployments > 0 && requests > 0 ? 0 : 1;
  } finally {
    await system.stop();
  }

  async function deployBeside(name: string, index: number): Promise<void> {
    deployments++;
    const result = await (await deployApp(system, appOf(name), index, options))();
    note(`${name} beside the neighbour`, result.outcome === 'live', result.failureMessage ?? result.outcome);
  }

  /** Resets every connection of builds as soon as packages are being installed. */
  async function deployWithoutNetwork(): Promise<void> {
    await failAndRecover(
      CUT,
      async (deploymentId) => {
        const installs = async () => (await system.log(deploymentId)).some((line) => /^\$ (npm|pnpm|yarn) /.test(line));
        await waitFor(installs, { what: 'the install to begin', timeoutMs: 120_000 });
        command('nft', 'add', 'table', 'inet', CUT_TABLE);
        const hook = '{ type filter hook forward priority -300 ; }';
        command('nft', 'add', 'chain', 'inet', CUT_TABLE, 'forward', hook);
        command(
          'nft',
          'add',
          'rule',
          'inet',
          CUT_TABLE,
          'forward',
          'meta',
          'l4proto',
          'tcp',
          'reject',
          'with',
          'tcp',
          'reset',
        );
      },
      async () => command('nft', 'delete', 'table', 'inet', CUT_TABLE),
      ['build.network_failed'],
    );
  }

  async function deployOnFullDisk(): Promise<void> {
    const filler = join(parent, 'filler');
    const free = statfsSync(parent);
    const bytes = free.bavail * free.bsize - FREE_BYTES;
    await failAndRecover(
      LARGE,
      async () => command('fallocate', '--length', String(bytes), filler),
      async () => rmSync(filler),
      ['build.disk_full', 'build.too_large'],
    );
  }

  /** Deploys once under a fault, which must fail with one of these codes, and once without it, which must go live. */
  async function failAndRecover(
    name: string,
    begin: (deploymentId: DeploymentDetail['id']) => Promise<void>,
    end: () => Promise<void>,
    codes: readonly string[],
  ): Promise<void> {
    const { appId } = await beginApp(system, appOf(name), NEIGHBOURED.length + deployments, options);
    try {
      const { deploymentId } = await system.product.verbs.createDeployment({ appId });
      deployments++;
      await begin(deploymentId);
      let failed: DeploymentDetail;
      try {
        failed = await system.waitForDeployment(deploymentId, 600_000);
      } finally {
        await end();
      }
      const told = `${failed.state} ${failed.failureCode}: ${failed.failureMessage}`;
      note(`${name} under the fault`, failed.state === 'failed' && codes.includes(failed.failureCode ?? ''), told);
      deployments++;
      const again = await system.deploy(appId);
      note(`${name} afterwards`, again.state === 'live', `${again.failureCode}: ${again.failureMessage}`);
    } finally {
      await system.product.verbs.purgeApp({ appId });
    }
  }
}

function appOf(name: string): RealApp {
  const app = REAL_APPS.find((each) => nameOf(each) === name);
  if (app === undefined) throw new Error(`the list has no ${name}`);
  return app;
}

function note(what: string, isGood: boolean, told: string): void {
  console.log(`${isGood ? 'ok  ' : 'FAIL'} ${what}: ${told}`);
  if (!isGood) problems.push(`${what}: ${told}`);
}

function command(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${program} ${args.join(' ')}: ${stderr}`);
}
