// Proxy under measurement, and the start of one that needs only its configuration.
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';
import type { Protocol } from './cells.ts';
import { treeOf } from './process-figures.ts';
import { freePort, startListening } from './processes.ts';

/** Number of serving threads or processes, the same for all peers. */
export const WORKERS = 2;

/** Templates of measurements here, and those that the benchmark lab of the agent uses too. */
const TEMPLATES = [join(import.meta.dirname, 'peers'), join(ROOT, 'agents/crates/lab/peers')];

/** Maximum length of a log quotation in a failure. */
const SAID_MAX = 300;

/** Input to the start of a peer. */
export interface Ends {
  /** Folder for its files. */
  readonly folder: string;
  /** Holds `leaf.pem`, `leaf-key.pem`, `both.pem` and the same in DER. */
  readonly certificate: string;
  /** The app's address: `127.0.0.1:3000` or `unix:/path`. */
  readonly app: string;
  /** Number of expected clients. */
  readonly clients: number;
}

export interface Running {
  readonly child: ChildProcess;
  readonly https: string;
  readonly http: string;
  /** Returns its current processes. */
  readonly pids: () => number[];
}

/** Installed program. */
export interface Program {
  readonly file: string;
  readonly version: string;
}

export interface Peer {
  readonly name: string;
  readonly speaks: readonly Protocol[];
  /** True if it takes part only in cells that name it. */
  readonly isVariant?: true;
  /** True if its app listens on a Unix socket. */
  readonly unixApp?: true;
  /** Its configuration files with their variables, as they are committed. */
  readonly configuration: string;
  /** Installs the program if it is missing; throws with the reason if it can't. */
  readonly obtain: () => Promise<Program>;
  readonly start: (program: Program, ends: Ends) => Promise<Running>;
}

export interface Configured {
  readonly name: string;
  readonly speaks: readonly Protocol[];
  readonly obtain: () => Promise<Program>;
  /** Templates to fill in; the program gets the path of the first. */
  readonly configs: readonly string[];
  /** Values of template variables beside the common ones. */
  readonly values?: Readonly<Record<string, string>>;
  readonly args: (config: string, folder: string) => string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Creates a peer that needs only its configuration. */
export function configured({ name, speaks, obtain, configs, values = {}, args, env = {} }: Configured): Peer {
  return {
    name,
    speaks,
    configuration: configs.map((config) => `# ${config}\n${readFileSync(templateOf(config), 'utf8')}`).join('\n'),
    obtain,
    start: async (program, ends) => {
      const folder = mkdtempSync(join(ends.folder, `${name}-`));
      mkdirSync(join(folder, 'run'));
      const [https, http] = [await freePort(), await freePort()];
      const [appHost, appPort] = ends.app.split(':');
      const all = {
        ...values,
        WORKERS,
        HTTPS_PORT: https,
        HTTP_PORT: http,
        METRICS_PORT: await freePort(),
        APP: ends.app,
        APP_HOST: appHost ?? '',
        APP_PORT: appPort ?? '',
        CERTIFICATE: ends.certificate,
        FOLDER: folder,
      };
      for (const config of configs) fill(config, join(folder, config), all);
      const file = join(folder, configs[0] ?? '');
      const address = `127.0.0.1:${https}`;
      const log = join(folder, 'log');
      const child = await startListening({ program: program.file, args: args(file, folder), env, log, address }).catch(
        (error: unknown) => {
          const said = readFileSync(log, 'utf8').trim().split('\n').slice(-2).join(' / ');
          throw new Error(`${error instanceof Error ? error.message : error}: ${said.slice(0, SAID_MAX)}`);
        },
      );
      const { pid } = child;
      if (pid === undefined) throw new Error('it has no process id');
      return { child, https: address, http: `127.0.0.1:${http}`, pids: () => treeOf(pid) };
    },
  };
}

function fill(template: string, file: string, values: Readonly<Record<string, string | number>>): void {
  const text = readFileSync(templateOf(template), 'utf8');
  const filled = text.replace(/@([A-Z_]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${template} asks for @${name}@, which nobody fills in`);
    return String(value);
  });
  writeFileSync(file, filled);
}

function templateOf(config: string): string {
  const folder = TEMPLATES.find((each) => existsSync(join(each, config)));
  if (folder === undefined) throw new Error(`there is no template ${config}`);
  return join(folder, config);
}
