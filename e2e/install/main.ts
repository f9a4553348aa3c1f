// `npm run check:install`: installs a release on a Debian 11 with systemd, lets a team work with it from machines of their
// own, updates it, loses it, restores it and uninstalls it. Last line: `steps S, failed F, requests lost L`.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../tools/lib/command.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { fileNames, TARGETS, type Target } from '../../tools/release/targets.ts';
import { copyRoot, makeRoot, must } from '../release/root.ts';
import type { Site } from '../system/harness/machine-client.ts';
import { curl } from '../system/harness/machine-client.ts';
import { type Machines, openMachines } from '../system/harness/machines.ts';
import { DATA, Installation } from './installation.ts';
import { startOwnDatabase } from './own-database.ts';
import { breakAfterMigration, changeAgent, repack, signerOf } from './releases.ts';
import { count, report, seconds, step } from './report.ts';
import { Server } from './server.ts';
import { requireApp, Team } from './team.ts';
import { dashboardAway, duringVisits } from './visits.ts';

// Needs root, an x64 machine, and debootstrap, systemd-container, minisign, iproute2 and curl of Debian; `-- --from DIR` names the files of
// `npm run release`, `--folder F` keeps what debootstrap fetched for the next run.

/** Packages beside Debian's base. A container has no package archive for the installer, so nftables is one of them. */
const PACKAGES = ['systemd', 'systemd-sysv', 'dbus', 'nftables'];
const HOST = 'fairlead.example.test';
const BOOT_TIMEOUT_MS = 2 * 60_000;
const RECOVERY_KEY = '/root/recovery.key';
const SERVERS = ['local', 'east', 'west'];
/** Ports of the control plane that no other machine may reach. */
const INNER_PORTS = [4400, 4401, 24432];

const { values } = parseArgs({ options: { from: { type: 'string' }, folder: { type: 'string' } } });
const dist = resolve(process.env.INIT_CWD ?? process.cwd(), values.from ?? 'dist');
// Other users pass through it: PostgreSQL has a user of its own.
const scratch = mkdtempSync('/var/tmp/fairlead-check-install-');
chmodSync(scratch, 0o711);
const undo: Undo[] = [async () => rmSync(scratch, { recursive: true, force: true })];
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const [target] = TARGETS as [Target];
const [first, second, third, broken] = [`${version}`, `${version}.1`, `${version}.2`, `${version}.3`];
/** Folder that the settings name as the feed of releases. */
const FEED = '/srv/releases';
const BACKUPS = '/srv/backups';

type Name = 'control' | 'east' | 'west' | 'visitor';

class Check {
  readonly #base: string;
  readonly #machines: Machines<Name>['machines'];
  #installation: Installation;
  #site: Site | undefined;
  #team: Team | undefined;

  private constructor(base: string, machines: Machines<Name>['machines'], installation: Installation) {
    this.#base = base;
    this.#machines = machines;
    this.#installation = installation;
  }

  static async open(): Promise<Check> {
    const network = await openMachines({
      folder: join(scratch, 'network'),
      names: ['control', 'east', 'west', 'visitor'],
      hosts: { control: HOST },
    });
    undo.push(() => network.close());
    const base = await makeRoot(values.folder ?? scratch, 'amd64', PACKAGES);
    const releases = join(scratch, 'releases');
    mkdirSync(releases);
    const archive = join(dist, fileNames.controlPlane(version, target));
    const signer = signerOf(dist, scratch);
    const release = { archive, target, signer };
    await repack({ ...release, to: join(releases, first), version: first });
    await repack({ ...release, to: join(releases, second), version: second, change: changeAgent });
    await repack({ ...release, to: join(releases, third), version: third, change: changeAgent });
    await repack({ ...release, to: join(releases, broken), version: broken, change: breakAfterMigration });
    const { machines } = network;
    return new Check(base, machines, await Check.#fresh(base, machines, 'first'));
  }

  /** A new server with only Debian's base and the releases in /root. */
  static async #fresh(base: string, machines: Machines<Name>['machines'], name: string): Promise<Installation> {
    const root = await copyRoot(base, join(scratch, name));
    await must('cp', [
      '-r',
      ...readdirSync(join(scratch, 'releases'), { encoding: 'utf8' }).map((each) => join(scratch, 'releases', each)),
      join(root, 'root'),
    ]);
    return new Installation({
      server: await Check.#boot(root, machines),
      url: `https://${HOST}`,
      target,
      folder: scratch,
    });
  }

  static async #boot(root: string, { control }: Machines<Name>['machines']): Promise<Server> {
    const hosts = readFileSync(join(scratch, 'network/hosts'), 'utf8');
    const server = await Server.boot({ root, network: control, hosts });
    undo.push(() => server.cutPower());
    return server;
  }

  get #visitor(): Site {
    if (this.#site === undefined) throw new Error('the dashboard was never opened');
    return this.#site;
  }

  get #people(): Team {
    if (this.#team === undefined) throw new Error('there is no account');
    return this.#team;
  }

  async install(): Promise<string> {
    await this.#installation.install(first);
    const { setupToken, fingerprint, server } = this.#installation;
    if (setupToken === '' || fingerprint === '') throw new Error('it prints no set-up link or no fingerprint');
    await this.#installation.requireVersion(first);
    const file = join(server.root, 'etc/fairlead/fairlead.toml');
    const { mode, uid, gid } = statSync(file);
    const group = Number(/^fairlead:[^:]*:(\d+):/m.exec(server.read('etc/group'))?.[1]);
    if ((mode & 0o777) !== 0o640 || uid !== 0 || gid !== group)
      throw new Error('fairlead.toml is not 0640 root:fairlead');
    if (!server.read('etc/fairlead/fairlead.toml').includes('mailto:ops@example.com')) throw new Error('no contact');
    return 'it prints the set-up link and the fingerprint';
  }

  async openDashboard(): Promise<string> {
    const { visitor, control } = this.#machines;
    this.#site = await this.#installation.siteOf(visitor);
    for (const port of INNER_PORTS) {
      const { code } = await visitor.run(['curl', '--silent', '--max-time', '5', `http://${control.address}:${port}/`]);
      if (code !== 7) throw new Error(`port ${port} is not closed: curl ended with ${code}`);
    }
    const plain = await curl(visitor, `http://${HOST}/sign-in`);
    if (plain.headers.get('location') !== `https://${HOST}/sign-in`) throw new Error('http does not lead to https');
    const team = new Team(this.#site, scratch, undo);
    await team.claim(this.#installation.setupToken);
    this.#team = team;
    return `${await this.#installation.requireSignIn(this.#site)}, with the printed fingerprint; other ports are closed`;
  }

  async invite(): Promise<string> {
    return `${await this.#people.invite(await this.#installation.siteOf(this.#machines.west))} joined from another machine`;
  }

  async installAgain(): Promise<string> {
    const { server } = this.#installation;
    const state = () => server.must(['systemctl', 'show', '--property=InvocationID,MainPID', 'fairlead.service']);
    const before = await state();
    const said = await this.#installation.install(first);
    if (!said.includes('runs already')) throw new Error(said);
    if ((await state()) !== before) throw new Error('the service restarted');
    return 'nothing restarted';
  }

  async addServers(): Promise<string> {
    const { east, west } = this.#machines;
    await this.#people.addServer(east);
    await this.#people.addServer(west);
    return 'two servers are online';
  }

  async deploy(): Promise<string> {
    const tookMs = await this.#people.deploy(this.#machines.east, ['east', 'local']);
    for (const each of this.#targets()) await requireApp(this.#machines.visitor, each);
    return `live in ${seconds(tookMs)} on both servers, and a visitor opens it there`;
  }

  #targets() {
    const { control, east } = this.#machines;
    const ownData = join(this.#installation.server.root, DATA);
    return [this.#people.targetOn(east), this.#people.targetAt(control.address, ownData)];
  }

  async cutPower(): Promise<string> {
    const { root } = this.#installation.server;
    const startedAt = performance.now();
    const { visits } = await duringVisits(
      this.#machines.visitor,
      [this.#people.targetOn(this.#machines.east)],
      async () => {
        await this.#installation.server.cutPower();
        this.#installation.server = await Check.#boot(root, this.#machines);
        const isBack = () =>
          this.#installation.requireSignIn(this.#visitor).then(
            () => true,
            () => false,
          );
        await waitFor(isBack, { what: 'the dashboard after the power cut', timeoutMs: BOOT_TIMEOUT_MS, everyMs: 250 });
        await this.#people.signIn();
        for (const name of SERVERS) await this.#people.online(name);
      },
    );
    const backMs = performance.now() - startedAt;
    for (const each of this.#targets()) await requireApp(this.#machines.visitor, each);
    return `after ${seconds(backMs)} dashboard, servers and apps are back by themselves; the other server: ${count(visits)}`;
  }

  async update(): Promise<string> {
    const { server } = this.#installation;
    await server.must(['sh', '-c', `cp -r /root/${third} ${FEED}`]);
    await this.#installation.configure(`\n[updates]\nfeed = "${FEED}"\n\n[backup]\nfolder = "${BACKUPS}"\n`, BACKUPS);
    const startedAt = performance.now();
    const { result, visits } = await duringVisits(this.#machines.visitor, this.#targets(), () =>
      dashboardAway(this.#visitor, async () => {
        await server.must(['fairlead', 'update', '--from', `/root/${second}`]);
        const updateMs = performance.now() - startedAt;
        await this.#installation.requireSignIn(this.#visitor);
        return updateMs;
      }),
    );
    await this.#installation.requireVersion(second);
    await this.#people.online('east');
    return `${seconds(result.result)}, dashboard away ${seconds(result.awayMs)}; ${count(visits)}`;
  }

  /** Web, gateway and worker have a user of their own, which can still make a backup with all keys. */
  async dropPrivileges(): Promise<string> {
    await this.#installation.requireUnprivileged();
    // Root makes the first backup and its key, and the user makes the next one with it.
    const first = ['--to', '/root/first-backup', '--recovery-key', RECOVERY_KEY];
    await this.#installation.server.must(['fairlead', 'backup', ...first]);
    return `web, gateway and worker run as fairlead; backup ${await this.#people.backUp()}`;
  }

  /** Presses the button: the control plane asks, and the updater of the server does it. */
  async updateByButton(): Promise<string> {
    const startedAt = performance.now();
    const { result, visits } = await duringVisits(this.#machines.visitor, this.#targets(), () =>
      dashboardAway(this.#visitor, async () => {
        await this.#people.update(third);
        return performance.now() - startedAt;
      }),
    );
    await this.#installation.requireVersion(third);
    await this.#people.online('east');
    return `${seconds(result.result)}, dashboard away ${seconds(result.awayMs)}; ${count(visits)}`;
  }

  /** A control plane that was taken over offers another program, and no agent takes it. */
  async refuseForeignAgent(): Promise<string> {
    const { server } = this.#installation;
    const file = `/opt/fairlead/current/agents/${target.name}`;
    await server.must(['sh', '-c', `cp ${file} /root/agent && echo foreign >>${file}`]);
    const reason = await this.#people.failAgentUpgrade();
    await server.must(['cp', '/root/agent', file]);
    if (!reason.includes('no key that this agent trusts has signed it')) throw new Error(reason);
    return 'refused by its signature';
  }

  async upgradeAgents(): Promise<string> {
    const { result, visits } = await duringVisits(this.#machines.visitor, this.#targets(), () =>
      this.#people.upgradeAgents(),
    );
    for (const name of ['east', 'west']) if (!result.includes(name)) throw new Error(`upgraded: ${result}`);
    return `${result}; ${count(visits)}`;
  }

  async refuseForged(): Promise<string> {
    const { server } = this.#installation;
    await server.must(['sh', '-c', `cp -r /root/${broken} /root/forged && echo '# x' >>/root/forged/SHA256SUMS`]);
    const { code, output } = await server.run(['fairlead', 'update', '--from', '/root/forged']);
    if (code === 0 || !output.includes('signature of SHA256SUMS is wrong')) throw new Error(output);
    await this.#installation.requireVersion(third);
    return 'refused';
  }

  async failUpdate(): Promise<string> {
    const proxy = await this.#installation.proxy();
    const { result, visits } = await duringVisits(this.#machines.visitor, this.#targets(), () =>
      this.#installation.server.run(['fairlead', 'update', '--from', `/root/${broken}`]),
    );
    const { code, output } = result;
    if (code === 0 || !output.includes(`${third} runs again`)) throw new Error(output);
    if (!output.includes('broken on purpose')) throw new Error(`it does not say why:\n${output}`);
    await this.#installation.requireVersion(third);
    if (proxy !== (await this.#installation.proxy())) throw new Error('the proxy is not the process from before');
    const names = await this.#installation.tables();
    if (!names.includes('server')) throw new Error(`the database has no tables of Fairlead: ${names}`);
    if (names.includes('install_check')) throw new Error('the database is the one of the failed version');
    // Both servers accept the state of the earlier database.
    await this.#people.redeploy();
    return `${await this.#installation.requireSignIn(this.#visitor)}, the previous database, and servers deploy; ${count(visits)}`;
  }

  async loseServer(): Promise<string> {
    const { east, west, visitor } = this.#machines;
    await this.#people.keepNotes(west, visitor);
    const { visits } = await duringVisits(visitor, this.#targets(), () => this.#people.loseServer(west, east));
    await this.#people.requireNotes(east, visitor);
    return `its app runs on east with the newest snapshot of its volume; the others: ${count(visits)}`;
  }

  async restore(): Promise<string> {
    const { east, visitor } = this.#machines;
    const former = this.#installation.server;
    await former.must(['fairlead', 'backup', '--to', '/root/backup']);
    const { visits } = await duringVisits(visitor, [this.#people.targetOn(east)], async () => {
      await former.cutPower();
      this.#installation = await Check.#fresh(this.#base, this.#machines, 'restored');
      const { server } = this.#installation;
      await must('cp', [
        '-r',
        join(former.root, 'root/backup'),
        join(former.root, RECOVERY_KEY),
        join(server.root, 'root'),
      ]);
      await this.#installation.install(third, '--no-start');
      const [data = '', keys = ''] = ['data', 'keys'].map((kind) =>
        readdirSync(join(server.root, 'root/backup')).find((name) => name.endsWith(`.${kind}.age`)),
      );
      const files = ['--from', `/root/backup/${data}`, '--keys', `/root/backup/${keys}`];
      await server.must(['fairlead', 'restore', ...files, '--recovery-key', RECOVERY_KEY]);
      await this.#installation.install(third);
      // The authority came back with the keys: visitors and servers trust the same one.
      await this.#installation.requireSignIn(this.#visitor);
      await this.#people.signIn();
      await this.#people.online('east');
    });
    return `sign-in by the former authority, account and the second server are back; ${count(visits)}`;
  }

  async uninstall(): Promise<string> {
    const { server } = this.#installation;
    await server.must(['fairlead', 'uninstall']);
    for (const path of ['opt/fairlead', 'usr/local/bin/fairlead', 'etc/systemd/system/fairlead.service'])
      if (server.has(path)) throw new Error(`${path} is still there`);
    if (!server.has(`${DATA}/secrets/master-key`)) throw new Error('the data is gone');
    const left = await this.#installation.processes();
    if (left.length > 0) throw new Error(`processes are left: ${left.join(', ')}`);
    return 'no program and no process is left, the data is';
  }

  async reinstall(): Promise<string> {
    await this.#installation.install(third);
    // Without the account, this page leads to the set-up.
    return this.#installation.requireSignIn(this.#visitor);
  }

  async deleteData(): Promise<string> {
    const { server } = this.#installation;
    const refused = await server.run(['fairlead', 'uninstall', '--delete-data', '--yes'], 'yes\n');
    if (refused.code === 0 || !server.has(DATA)) throw new Error('it deletes without the words');
    await server.must(['fairlead', 'uninstall', '--delete-data'], 'delete all data\n');
    for (const path of [DATA, 'etc/fairlead', 'var/backups/fairlead', 'var/log/fairlead'])
      if (server.has(path)) throw new Error(`${path} is still there`);
    return 'only after the typed words';
  }

  async updateOwnDatabase(): Promise<string> {
    const { server } = this.#installation;
    const file = await startOwnDatabase(server, {
      archive: `/root/${first}/${fileNames.controlPlane(first, target)}`,
      target,
    });
    await this.#installation.install(first, '--database-url-file', file);
    const update = ['fairlead', 'update', '--from', `/root/${third}`];
    const refused = await server.run(update);
    if (refused.code === 0 || !refused.output.includes('back up your own PostgreSQL')) throw new Error(refused.output);
    await server.must([...update, '--yes']);
    await this.#installation.requireVersion(third);
    if (server.has(`${DATA}/postgres/cluster`)) throw new Error('there is an embedded database too');
    const { machine, url, caFile } = await this.#installation.siteOf(this.#machines.visitor);
    const { status } = await curl(machine, `${url}/healthz`, { caFile });
    if (status !== 200) throw new Error(`the dashboard answers ${status}`);
    return 'refused without --yes; the dashboard answers over HTTPS, and there is no embedded database';
  }

  async uninstallAgent(): Promise<string> {
    const left = await this.#people.uninstallAgent(this.#machines.east);
    if (left.length > 0) throw new Error(`files are left: ${left.join(', ')}`);
    return 'nothing is left of it';
  }
}

try {
  console.log('  …  three releases, a Debian 11 and four machines');
  const check = await Check.open();
  await step('install', () => check.install());
  await step('dashboard over HTTPS', () => check.openDashboard());
  await step('invitation', () => check.invite());
  await step('second installation', () => check.installAgain());
  await step('further servers', () => check.addServers());
  await step('deploy', () => check.deploy());
  await step('update', () => check.update());
  await step('service user', () => check.dropPrivileges());
  await step('update by the button of the dashboard', () => check.updateByButton());
  await step('power cut', () => check.cutPower());
  await step('upgrade of the agents', () => check.upgradeAgents());
  await step('foreign agent', () => check.refuseForeignAgent());
  await step('forged update', () => check.refuseForged());
  await step('failed update and the way back', () => check.failUpdate());
  await step('loss of a server with a volume', () => check.loseServer());
  await step('loss of the control plane, backup and restore', () => check.restore());
  await step('uninstall', () => check.uninstall());
  await step('installation on kept data', () => check.reinstall());
  await step('uninstall with data', () => check.deleteData());
  await step('update with an own PostgreSQL', () => check.updateOwnDatabase());
  await step('uninstall of an agent', () => check.uninstallAgent());
} finally {
  await undoAll(undo);
}
process.exitCode = report() ? 0 : 1;
