// `npm run check:server`: installs Fairlead on a real Debian server with systemd in qemu, deploys an app, and restarts,
// reboots, upgrades and removes the agent under traffic. Last line: `steps N, failed F`.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ADA, claimSetup, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { startProduct } from '../../tools/lib/running-product.ts';
import { startTraffic } from '../../tools/lib/traffic.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp } from '../system/harness/apps.ts';
import { AGENT_BINARY } from '../system/harness/assemble.ts';
import { serveRepositories } from '../system/harness/repository.ts';
import { type Guest, startGuest } from './guest.ts';

// The upgrades replace the binary manually and from the dashboard; two programs from there are bad. Needs root and
// Debian, and half an hour for the emulation; `-- --folder F` keeps the Debian for the next run.

interface AppRow {
  readonly id: string;
  readonly slug: string;
  readonly lastDeployment: { readonly id: string; readonly state: string } | null;
}
interface ServerRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly inSync: boolean;
  readonly upgrade: { readonly state: string; readonly failureMessage: string | null } | null;
}

const HOST = 'there.localhost';
const SLOW_MS = 300_000;

const { values } = parseArgs({ options: { folder: { type: 'string' } } });
const scratch = mkdtempSync(join(tmpdir(), 'fairlead-server-'));
const undo: Undo[] = [async () => rmSync(scratch, { recursive: true })];
let [steps, failed] = [0, 0];

async function step(what: string, work: () => Promise<string>): Promise<void> {
  steps++;
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
  try {
    console.log(`ok   ${what}: ${await work()} (${seconds()})`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${what}: ${error instanceof Error ? error.message : String(error)} (${seconds()})`);
  }
}

try {
  const note = (line: string) => console.log(`  …  ${line}`);
  note('npm start');
  const offer = offerFrom(join(scratch, 'offered'));
  offer(readFileSync(AGENT_BINARY));
  const product = await startProduct({
    agent: AGENT_BINARY,
    env: { FAIRLEAD_AGENT_BINARY: join(scratch, 'offered') },
  });
  undo.push(() => product.stop());
  const organization = await claimSetup(product.url, product.setupToken ?? '', ADA);
  const dashboard = await signIn(product.url, ADA);
  const sourcePort = await freePort();
  const repositories = await serveRepositories(join(scratch, 'repositories'), sourcePort);
  undo.push(() => repositories.close());
  const repository = await repositories.create('there', respondingApp('it is there'));

  const guest = await startGuest(values.folder ?? join(scratch, 'guest'), note);
  undo.push(() => guest.stop());
  const ports = [product.ports.web, product.ports.gateway, sourcePort];
  await guest.connect(ports);
  const caFile = join(scratch, 'ca.pem');
  await proveServer({ guest, dashboard, organization, repositoryUrl: repository.url, ports, caFile, offer });
} finally {
  await undoAll(undo);
}
console.log(`load of the machine: ${loadavg().join(' ')}`);
console.log(`steps ${steps}, failed ${failed}`);
process.exitCode = failed === 0 && steps > 0 ? 0 : 1;

/** Replaces the program that the dashboard offers, atomically. */
function offerFrom(path: string): (program: Buffer) => void {
  return (program) => {
    writeFileSync(`${path}.new`, program);
    renameSync(`${path}.new`, path);
  };
}

interface Stage {
  readonly guest: Guest;
  readonly dashboard: Dashboard;
  readonly organization: string;
  readonly repositoryUrl: string;
  readonly ports: readonly number[];
  readonly caFile: string;
  readonly offer: (program: Buffer) => void;
}

async function proveServer(stage: Stage): Promise<void> {
  const { guest, dashboard, organization, repositoryUrl, ports, caFile, offer } = stage;
  const server = async () => {
    const { items } = await dashboard.query<{ items: readonly ServerRow[] }>('server.list', organization);
    return items.find(({ name }) => name === 'guest');
  };
  const online = () =>
    waitFor(async () => (await server())?.state === 'online' && (await server())?.inSync, {
      what: 'the server online and in sync',
      timeoutMs: SLOW_MS,
    });
  const get = () => requestPinned({ host: HOST, port: guest.httpsPort, path: '/', caFile, timeoutMs: 20_000 });
  const served = () =>
    waitFor(
      async () => {
        try {
          return (await get()).body === 'it is there';
        } catch {
          return false; // the guest is not up yet
        }
      },
      { what: 'the app over HTTPS', timeoutMs: SLOW_MS, everyMs: 500 },
    );
  const appPid = async () => (await guest.sh('pgrep -f "node server[.]js$"')).trim();
  const app = async () => {
    const { items } = await dashboard.query<{ items: readonly AppRow[] }>('app.list', organization, { limit: 50 });
    return items.find(({ slug }) => slug === 'there');
  };
  const live = (after?: string) =>
    waitFor(
      async () => {
        const last = (await app())?.lastDeployment;
        if (last?.id === after) return false;
        if (last?.state === 'failed') throw new Error('the deployment failed');
        return last?.state === 'live';
      },
      { what: 'the deployment to be live', timeoutMs: SLOW_MS },
    );
  const deploy = async () => {
    const { id, lastDeployment } = (await app()) ?? {};
    await dashboard.call('deployment.create', { appId: id }, organization);
    await live(lastDeployment?.id);
  };
  /** Sends requests while `work` runs; none may fail. */
  const undisturbed = async (work: () => Promise<string>) => {
    const traffic = startTraffic({ host: HOST, port: guest.httpsPort, caFile, path: '/', connections: 2 });
    await traffic.more(20, SLOW_MS);
    const said = await work();
    await traffic.more(20, SLOW_MS);
    const { answered, failures } = await traffic.stop();
    if (failures.length > 0)
      throw new Error(`${said}; ${failures.length} of ${answered} failed: ${failures[0]?.reason}`);
    return `${said}, ${answered} requests, 0 failed`;
  };

  await step('the dashboard’s line installs the agent', async () => {
    const { command } = await dashboard.call<{ command: string }>('server.enrol', { name: 'guest' }, organization);
    await guest.sh(command);
    await online();
    return (await guest.sh('systemctl is-system-running || true; stat -fc %T /sys/fs/cgroup'))
      .trim()
      .replace('\n', ', ');
  });
  await step('an app is deployed', async () => {
    const { id = '' } = (await server()) ?? {};
    await dashboard.call(
      'app.create',
      { name: 'there', source: { kind: 'git', repositoryUrl }, serverIds: [id], domain: { host: HOST } },
      organization,
    );
    await live();
    writeFileSync(caFile, await guest.sh('cat /var/lib/fairlead/ca/ca.pem'));
    await served();
    return 'live, over HTTPS';
  });
  await step('the instance is bounded by cgroup v2', async () => {
    const pid = await appPid();
    const folder = (await guest.sh(`sed -n "s/^0:://p" /proc/${pid}/cgroup`)).trim();
    const limit = await guest.sh(
      `cd "/sys/fs/cgroup${folder}"; echo "$(cat memory.max) $(cat pids.max) $(cat memory.current)"`,
    );
    const uid = (await guest.sh(`sed -n "s/^Uid:\\t\\([0-9]*\\).*/\\1/p" /proc/${pid}/status`)).trim();
    if (Number(uid) === 0) throw new Error('it runs as root');
    return `${folder}: memory.max, pids.max, memory.current ${limit.trim()}; uid ${uid}`;
  });
  await step('what outlives run lives outside of its unit', async () => {
    const groups = await guest.sh(`for pid in $(pgrep -x fairlead-agent); do
  echo "$(tr '\\0' ' ' </proc/$pid/cmdline | cut -d' ' -f2) $(sed -n 's/^0:://p' /proc/$pid/cgroup)"
done`);
    const of = (what: string) => groups.split('\n').filter((line) => line.startsWith(`${what} `));
    const inside = '/system.slice/fairlead-agent.service';
    if (of('run').join() !== `run ${inside}` || of('proxy').length !== 1 || of('shim').length !== 1)
      throw new Error(groups);
    if ([...of('proxy'), ...of('shim')].some((line) => line.includes(inside))) throw new Error(groups);
    return groups.trim().replaceAll('\n', ', ');
  });
  await step('the agent’s own diagnosis', async () => {
    // Checks only what systemd and the kernel provide, not Git, node or npm.
    const text = await guest.sh('fairlead-agent check --data /var/lib/fairlead --json || true');
    const findings = JSON.parse(text) as { what: string; verdict: string; detail: string }[];
    // The guest's kernel is older than Landlock's scopes, and the agent reports that.
    const bad = findings.filter(
      ({ what, verdict, detail }) =>
        ['limits', 'isolation', 'proxy', 'link'].includes(what) &&
        verdict !== 'good' &&
        !detail.includes('older than Linux 6.12'),
    );
    if (bad.length > 0) throw new Error(bad.map(({ what, detail }) => `${what}: ${detail}`).join('; '));
    return findings.find(({ what }) => what === 'limits')?.detail ?? '';
  });
  await step('the unit is restarted', async () => {
    const before = await appPid();
    return undisturbed(async () => {
      await guest.sh('systemctl restart fairlead-agent');
      await online();
      const after = await appPid();
      if (after !== before) throw new Error(`the instance was replaced: ${before}, ${after}`);
      return (await guest.sh('systemctl show -p ActiveState,SubState,NRestarts fairlead-agent'))
        .trim()
        .replaceAll('\n', ' ');
    });
  });
  await step('run is killed -9; systemd starts it again', async () => {
    const before = await appPid();
    return undisturbed(async () => {
      const pid = (await guest.sh('systemctl show -p MainPID --value fairlead-agent')).trim();
      await guest.sh(`kill -9 ${pid}`);
      await waitFor(
        async () => {
          const now = (await guest.sh('systemctl show -p MainPID --value fairlead-agent')).trim();
          return now !== '0' && now !== pid;
        },
        { what: 'another run', timeoutMs: 60_000, everyMs: 500 },
      );
      await online();
      if ((await appPid()) !== before) throw new Error('the instance was replaced');
      return (await guest.sh('systemctl show -p ActiveState,NRestarts fairlead-agent')).trim().replaceAll('\n', ' ');
    });
  });
  await step('the app is deployed anew by the agent that came back', async () => {
    const before = await appPid();
    return undisturbed(async () => {
      await deploy();
      const replaced = async () => {
        const now = await appPid();
        return now !== before && !now.includes('\n');
      };
      await waitFor(replaced, { what: 'another instance alone', timeoutMs: SLOW_MS, everyMs: 500 });
      return 'live';
    });
  });
  await step('the process that keeps the apps’ group dies, and the unit is restarted', async () => {
    const before = await appPid();
    return undisturbed(async () => {
      await guest.sh('kill -9 $(systemctl show -p MainPID --value fairlead-apps)');
      await waitFor(async () => (await guest.sh('systemctl is-active fairlead-apps || true')).trim() === 'failed', {
        what: 'systemd to notice',
        timeoutMs: 60_000,
      });
      await guest.sh('systemctl restart fairlead-agent');
      await online();
      if ((await appPid()) !== before) throw new Error('the instance was replaced');
      return 'the instance stayed';
    });
  });
  await step('another binary takes the agent’s place', async () => {
    const before = await appPid();
    return undisturbed(async () => {
      // Appending a byte makes another file of the same program.
      await guest.sh(`cp /usr/local/bin/fairlead-agent /root/next
printf x >>/root/next
install -m 0755 /root/next /usr/local/bin/fairlead-agent
systemctl restart fairlead-agent`);
      await online();
      if ((await appPid()) !== before) throw new Error('the instance was replaced');
      return 'the instance stayed';
    });
  });
  /** Requests an upgrade and returns its outcome; the instance must survive it. */
  const upgrade = (program: Buffer) =>
    undisturbed(async () => {
      const before = await appPid();
      offer(program);
      await dashboard.call('server.upgrade', { serverId: (await server())?.id }, organization);
      const ended = await waitFor(
        async () => {
          const now = (await server())?.upgrade;
          return now?.state === 'running' ? undefined : (now ?? undefined);
        },
        { what: 'the end of the upgrade', timeoutMs: 2 * SLOW_MS, everyMs: 1000 },
      );
      await online();
      if ((await appPid()) !== before) throw new Error('the instance was replaced');
      return `${ended.state}: ${ended.failureMessage ?? 'it runs'}`;
    });
  const expectSaid = (said: string, wanted: string) => {
    if (!said.startsWith(wanted)) throw new Error(said);
    return said;
  };
  await step('the agent is upgraded from the dashboard', async () => {
    const before = (await guest.sh('systemctl show -p MainPID --value fairlead-agent')).trim();
    const said = await upgrade(Buffer.concat([readFileSync(AGENT_BINARY), Buffer.from('from the dashboard')]));
    const after = (await guest.sh('systemctl show -p MainPID --value fairlead-agent')).trim();
    if (after !== before) throw new Error(`another process: ${before}, ${after}`);
    return `${expectSaid(said, 'succeeded')}, ${(await guest.sh(`readlink /proc/${after}/exe`)).trim()}`;
  });
  await step('one that ends at once is left again', async () =>
    expectSaid(await upgrade(Buffer.from('#!/bin/sh\n[ "$1" = trial ] || exit 1\n')), 'failed'),
  );
  await step('one that hangs is left again', async () =>
    expectSaid(await upgrade(Buffer.from('#!/bin/sh\n[ "$1" = trial ] || exec sleep 1000\n')), 'failed'),
  );
  await step('after a reboot without a control plane everything comes back', async () => {
    await guest.disconnect();
    await guest.reboot();
    await served();
    const restarts = (await guest.sh('systemctl show -p NRestarts --value fairlead-agent')).trim();
    return `served from the saved state, the agent was started again ${restarts} times`;
  });
  await step('the control plane is back', async () => {
    await guest.connect(ports);
    await online();
    return 'in sync';
  });
  await step('what systemd thinks of the unit', async () =>
    (await guest.sh('systemd-analyze security fairlead-agent --no-pager | tail -1')).trim(),
  );
  await step('the server is removed, and its agent with it', async () => {
    const { items } = await dashboard.query<{ items: readonly ServerRow[] }>('server.list', organization);
    const [id, targetServerId] = ['guest', 'local'].map((each) => items.find(({ name }) => name === each)?.id);
    const before = await app();
    await dashboard.call('server.drain', { serverId: id, drained: true }, organization);
    await dashboard.call('server.moveApps', { serverId: id, targetServerId }, organization);
    await live(before?.lastDeployment?.id);
    await dashboard.call('server.drain', { serverId: id, drained: true }, organization);
    const removal = { serverId: id, confirmName: 'guest', withData: false };
    await dashboard.call('server.uninstall', removal, organization);
    await waitFor(async () => (await server()) === undefined, { what: 'the end of the server', timeoutMs: SLOW_MS });
    const left = `systemctl list-units --all --no-legend 'fairlead-[^u]*'; ls -d /etc/systemd/system/fairlead-* \\
  /usr/local/bin/fairlead-agent /sys/fs/cgroup/system.slice/fairlead-a* 2>/dev/null; ls /var/lib/fairlead | grep -vx volumes
  nft list tables | grep fairlead; pgrep -ax fairlead-agent; true`;
    const isClean = async () => (await guest.sh(left)).trim() === '';
    await waitFor(isClean, { what: 'a machine without an agent', timeoutMs: SLOW_MS });
    return `left: ${(await guest.sh('ls /var/lib/fairlead')).trim()}`;
  });
}
