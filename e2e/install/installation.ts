// Installation under test: the control plane of a release on a server, as its operator and its visitors see it.
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Target } from '../../tools/release/targets.ts';
import { curl, type Site } from '../system/harness/machine-client.ts';
import type { Machine } from '../system/harness/machines.ts';
import type { Server } from './server.ts';

export const DATA = '/var/lib/fairlead-control-plane';
const SIGN_IN = 'Welcome back.';

export interface InstallationOptions {
  readonly server: Server;
  readonly url: string;
  readonly target: Target;
  /** Folder for authorities that visitors download. */
  readonly folder: string;
}

export class Installation {
  server: Server;
  readonly url: string;
  /** SHA-256 of the authority, as the installer printed it last. */
  fingerprint = '';
  setupToken = '';
  readonly #target: Target;
  readonly #folder: string;

  constructor({ server, url, target, folder }: InstallationOptions) {
    this.server = server;
    this.url = url;
    this.#target = target;
    this.#folder = folder;
  }

  /** Runs the installer of a release in /root. */
  async install(version: string, ...options: readonly string[]): Promise<string> {
    const from = `/root/${version}`;
    const flags = ['--from', from, '--yes', '--public-url', this.url, '--email', 'ops@example.com', ...options];
    const said = await this.server.must(['sh', `${from}/install.sh`, ...flags]);
    this.setupToken = /setup#token=(\S+)/.exec(said)?.[1] ?? '';
    this.fingerprint = /SHA-256 ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})/.exec(said)?.[1] ?? '';
    return said;
  }

  async requireVersion(wanted: string): Promise<void> {
    const said = await this.server.must(['fairlead', 'version']);
    if (!said.includes(`fairlead ${wanted} `)) throw new Error(`fairlead version prints ${said}`);
  }

  /** Returns the site for a machine that compared the printed fingerprint. */
  async siteOf(machine: Machine): Promise<Site> {
    const pem = await (await curl(machine, `${this.url}/install/ca.pem`, { flags: ['--insecure'] })).text();
    const { fingerprint256 } = new X509Certificate(pem);
    if (fingerprint256 !== this.fingerprint)
      throw new Error(
        `the authority has the fingerprint ${fingerprint256}, and the installer printed ${this.fingerprint}`,
      );
    const caFile = join(this.#folder, `${machine.name}.pem`);
    writeFileSync(caFile, pem);
    return { machine, url: this.url, caFile };
  }

  async requireSignIn({ machine, url, caFile }: Site): Promise<string> {
    const page = await curl(machine, `${url}/sign-in`, { caFile });
    if (page.status !== 200 || !(await page.text()).includes(SIGN_IN))
      throw new Error(`the sign-in page answers ${page.status} and does not say "${SIGN_IN}"`);
    return 'sign-in page over HTTPS';
  }

  /** Throws unless the services run as the user fairlead, without capabilities and without a way to get any. */
  async requireUnprivileged(): Promise<void> {
    const uid = /^fairlead:[^:]*:(\d+):/m.exec(this.server.read('etc/passwd'))?.[1];
    const record = JSON.parse(this.server.read(`${DATA}/run/processes.json`)) as {
      readonly processes: Readonly<Record<string, { readonly pid: number }>>;
    };
    for (const name of ['web', 'gateway', 'worker']) {
      const status = await this.server.must(['cat', `/proc/${record.processes[name]?.pid}/status`]);
      const field = (key: string) => new RegExp(`^${key}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? '';
      const isPlain =
        field('Uid') === uid && /^0+$/.test(field('CapPrm') + field('CapEff')) && field('NoNewPrivs') === '1';
      if (!isPlain)
        throw new Error(`${name} runs as ${field('Uid')} with the capabilities ${field('CapEff')}, not as ${uid}`);
    }
  }

  /** Adds settings and a folder that the unit may write to. They take effect with the next start. */
  async configure(settings: string, folder: string): Promise<void> {
    const file = '/etc/systemd/system/fairlead.service.d/backups.conf';
    await this.server.must(
      ['sh', '-c', `mkdir -p "\${1%/*}" "$2" && cat >"$1"`, 'sh', file, folder],
      `[Service]\nReadWritePaths=${folder}\n`,
    );
    await this.server.must(['sh', '-c', 'cat >>/etc/fairlead/fairlead.toml'], settings);
    await this.server.must(['systemctl', 'daemon-reload']);
  }

  /** Process ids of the local proxy. */
  async proxy(): Promise<string> {
    const script = `for p in /proc/[0-9]*; do
    case "$(readlink $p/exe) $(tr '\\0' ' ' <$p/cmdline)" in ${DATA}/*' proxy '*) echo \${p#/proc/} ;; esac
  done`;
    const ids = (await this.server.must(['sh', '-c', script])).trim();
    if (ids === '') throw new Error('no proxy runs');
    return ids;
  }

  /** Lists the tables of the running database, with the release's own driver. */
  async tables(): Promise<string> {
    const script = `
    import pg from '/opt/fairlead/current/node_modules/pg/lib/index.js';
    import { findRunning } from '/opt/fairlead/current/packages/db/src/embedded.ts';
    const client = new pg.Client({ connectionString: await findRunning('${DATA}/postgres') });
    await client.connect();
    const { rows } = await client.query("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')");
    console.log(rows.map(({ relname }) => relname.toLowerCase()).join(' '));
    await client.end();`;
    const node = `/opt/fairlead/current/node_modules/node-${this.#target.name}/bin/node`;
    return this.server.must([node, '--input-type=module', '--eval', script]);
  }

  /** Programs of Fairlead that run on the server. */
  async processes(): Promise<readonly string[]> {
    const programs = await this.server.must(['sh', '-c', 'readlink /proc/[0-9]*/exe || true']);
    return programs.match(/\S*fairlead\S*/g) ?? [];
  }
}
