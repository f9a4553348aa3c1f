// Proxy under measurement, and the start of one that needs only its configuration.
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ROOT, run } from '../../tools/lib/command.ts';
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
  /** Sends new requests to the app at another address, in the way of the proxy's manual. May return before all do. */
  readonly switchApp: (app: string) => Promise<void>;
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
  /** True if it serves only HTTPS. */
  readonly isTlsOnly?: true;
  /** True if it can't switch to another app. It then takes no part in deployments. */
  readonly hasFixedApp?: true;
  /** Its configuration files with their variables, as they are committed. */
  readonly configuration: string;
  /** Arguments that print the program's version. */
  readonly versionArgs: readonly string[];
  /** Means by which it learns another address of the app, as a phrase. */
  readonly switchedBy: string;
  /** Installs the program if it is missing; throws with the reason if it can't. */
  readonly obtain: () => Promise<Program>;
  readonly start: (program: Program, ends: Ends) => Promise<Running>;
}

export interface Configured {
  readonly name: string;
  readonly speaks: readonly Protocol[];
  readonly isTlsOnly?: true;
  /** Default: `-v`. */
  readonly versionArgs?: readonly string[];
  readonly obtain: () => Promise<Program>;
  /** Templates to fill in; the program gets the path of the first. */
  readonly configs: readonly string[];
  /** Paths of files in the program's folder by template. Default: the template's name. */
  readonly paths?: Readonly<Record<string, string>>;
  /** Changes of the templates as [text, replacement]. */
  readonly changes?: readonly (readonly [string, string])[];
  /** Values of template variables beside the common ones. */
  readonly values?: Readonly<Record<string, string>>;
  /** Names between at signs in arguments and environment are filled in as in the templates. */
  readonly args: (config: string, folder: string) => string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of the command that sets the running program's app, at the start and at each switch. */
  readonly route?: readonly string[];
  /** Default: it watches its files. */
  readonly switchedBy?: string;
  /** Makes the program use its rewritten files. */
  readonly reload?: (reload: Reload) => Promise<void> | void;
}

/** Running program whose files name another app. */
export interface Reload {
  readonly child: ChildProcess;
  readonly program: Program;
  readonly folder: string;
  /** Path of its first file. */
  readonly config: string;
  /** New address of the app. */
  readonly app: string;
  /** Its address before. */
  readonly previous: string;
  /** Folder of the certificate. */
  readonly certificate: string;
  /** Port and secret of its control API. */
  readonly control: { readonly port: number; readonly secret: string };
}

/** Creates a peer that needs only its configuration. */
export function configured(peer: Configured): Peer {
  const {
    name,
    speaks,
    isTlsOnly,
    versionArgs = ['-v'],
    switchedBy = 'files that it watches',
    obtain,
    configs,
    paths = {},
    values = {},
    changes = [],
    args,
    env = {},
    route,
  } = peer;
  const pathOf = (config: string) => paths[config] ?? config;
  const templates = configs.map((config) => ({ config, text: changed(config, changes) }));
  for (const [from] of changes) {
    if (!configs.some((config) => readTemplate(config).includes(from))) throw new Error(`no template has: ${from}`);
  }
  return {
    name,
    speaks,
    ...(isTlsOnly === undefined ? {} : { isTlsOnly }),
    versionArgs,
    switchedBy,
    configuration: [
      ...templates.map(({ config, text }) => `# ${config}\n${text}`),
      ...(route === undefined ? [] : [`${name} ${args('', '').join(' ')}\n${name} ${route.join(' ')}\n`]),
    ].join('\n'),
    obtain,
    start: async (program, ends) => {
      const folder = mkdtempSync(join(ends.folder, `${name}-`));
      mkdirSync(join(folder, 'run'));
      const [https, http] = [await freePort(), await freePort()];
      const control = { port: await freePort(), secret: randomBytes(16).toString('base64url') };
      const common = {
        ...values,
        WORKERS,
        HTTPS_PORT: https,
        HTTP_PORT: http,
        METRICS_PORT: control.port,
        CERTIFICATE: ends.certificate,
        FOLDER: folder,
        SECRET: control.secret,
      };
      const write = (app: string) => {
        for (const { config, text } of templates) {
          // A rename, because programs that watch a file must not read half of it.
          const file = join(folder, pathOf(config));
          mkdirSync(dirname(file), { recursive: true });
          writeFileSync(`${file}.new`, filled(config, text, { ...common, ...appValues(app) }));
          renameSync(`${file}.new`, file);
        }
      };
      write(ends.app);
      const config = join(folder, pathOf(configs[0] ?? ''));
      const address = `127.0.0.1:${https}`;
      const log = join(folder, 'log');
      const fill = (text: string, app: string) => filled(name, text, { ...common, ...appValues(app) });
      const environment = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value, ends.app)]));
      const ownArgs = args(config, folder).map((arg) => fill(arg, ends.app));
      const launch = { program: resolve(program.file), args: ownArgs, env: environment, cwd: folder, log, address };
      const child = await startListening(launch).catch((error: unknown) => {
        const said = readFileSync(log, 'utf8').trim().split('\n').slice(-2).join(' / ');
        throw new Error(`${error instanceof Error ? error.message : error}: ${said.slice(0, SAID_MAX)}`);
      });
      const { pid } = child;
      if (pid === undefined) throw new Error('it has no process id');
      const setRoute = async (app: string) => {
        if (route === undefined) return;
        const command = route.map((arg) => fill(arg, app));
        const { code, output } = await run(program.file, command, { env: environment });
        if (code !== 0) throw new Error(`${name} ${command[0]}: ${output.trim().split('\n').at(-1)}`);
      };
      await setRoute(ends.app).catch((error: unknown) => {
        child.kill('SIGKILL');
        throw error;
      });
      let current = ends.app;
      const switchApp = async (app: string) => {
        write(app);
        await setRoute(app);
        const { certificate } = ends;
        await peer.reload?.({ child, program, folder, config, app, previous: current, certificate, control });
        current = app;
      };
      return { child, https: address, http: `127.0.0.1:${http}`, pids: () => treeOf(pid), switchApp };
    },
  };
}

function appValues(app: string): Readonly<Record<string, string>> {
  const [host, port] = app.split(':');
  return { HOST: 'bench.localhost', APP: app, APP_HOST: host ?? '', APP_PORT: port ?? '' };
}

function filled(config: string, text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/@([A-Z_]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${config} asks for @${name}@, which nobody fills in`);
    return String(value);
  });
}

function changed(config: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => text.replace(from, to), readTemplate(config));
}

function readTemplate(config: string): string {
  return readFileSync(join(templateOf(config), config), 'utf8');
}

function templateOf(config: string): string {
  const folder = TEMPLATES.find((each) => existsSync(join(each, config)));
  if (folder === undefined) throw new Error(`there is no template ${config}`);
  return folder;
}
