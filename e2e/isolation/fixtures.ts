// Fixtures of both modes: targets on the server and beyond it, plain processes for controls and visitors, and the
// record of received traffic. Its processes run in the server's network and never outlive it.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { waitFor } from '../../tools/lib/wait.ts';
import { type Attack, PORTS } from './attack.ts';
import { ATTACK_PROGRAM, PYTHON, victim } from './hostile.ts';
import { DEVICE, GATEWAY, HOSTS, SERVER } from './namespaces.ts';
import type { Arrival, Target, TargetsFile } from './targets.ts';
import type { Answer, Attempt } from './verdict.ts';

export const ATTEMPT_TIMEOUT_MS = 20_000;

/** Names of all reachable targets; each has a token of its own. */
const TOKENS = [
  ...['victim', 'wide', 'slow', 'socketed', 'build'],
  ...['host-loopback', 'host-address', 'host-udp', 'host-link-local', 'host-resolver', 'abstract', 'engine'],
  ...['internet', 'metadata', 'private', 'router', 'resolver', 'broadcast', 'multicast', 'web'],
] as const;

export type TokenName = (typeof TOKENS)[number];

export class Fixtures {
  readonly tokens: Readonly<Record<string, string>>;
  readonly abstract = `fairlead-check-${randomBytes(6).toString('hex')}`;
  readonly #outside: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'fairlead-isolation-'));
  readonly #children: ChildProcess[] = [];
  readonly #record: string;
  readonly #program: string;

  private constructor(outside: readonly string[]) {
    this.#outside = outside;
    chmodSync(this.#folder, 0o755);
    this.#record = join(this.#folder, 'arrivals');
    writeFileSync(this.#record, '');
    this.#program = join(this.#folder, 'attack.py');
    copyFileSync(ATTACK_PROGRAM, this.#program);
    chmodSync(this.#program, 0o644);
    this.tokens = Object.fromEntries(TOKENS.map((name) => [name, `${name}-${randomBytes(8).toString('hex')}`]));
  }

  /** `outside`: prefix of a command that runs outside of the server. */
  static async open(outside: readonly string[]): Promise<Fixtures> {
    const fixtures = new Fixtures(outside);
    try {
      await Promise.all([fixtures.#openTargets(), fixtures.#openPlainVictims()]);
    } catch (error) {
      await fixtures.close();
      throw error;
    }
    return fixtures;
  }

  token(name: TokenName): string {
    return this.tokens[name] ?? '';
  }

  get engineSocket(): string {
    return join(this.#folder, 'engine.sock');
  }

  /** Current length of the record in bytes. */
  get recorded(): number {
    return readFileSync(this.#record).length;
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }),
    );
    rmSync(this.#folder, { recursive: true });
  }

  /** Runs attempts in a plain process, outside of the server or on it. */
  attempt(
    where: 'outside' | 'server',
    user: number | undefined,
    attempts: readonly Attempt[],
  ): Promise<readonly Answer[]> {
    const prefix = where === 'outside' ? this.#outside : [];
    const [program = '', ...rest] = [...prefix, PYTHON, this.#program, JSON.stringify(attempts)];
    const as = user === undefined ? {} : { uid: user, gid: user };
    return new Promise((resolve, reject) => {
      execFile(program, rest, { timeout: ATTEMPT_TIMEOUT_MS, cwd: '/', ...as }, (error, stdout, stderr) => {
        try {
          resolve(readAnswers(stdout, error === null ? '' : `${error.message} ${stderr}`));
        } catch (broken) {
          reject(broken);
        }
      });
    });
  }

  /** Returns the arrivals after the given length of the record. Waits a moment for datagrams in flight. */
  async arrivals(before: number, nonce: string, proof: Attack['proof']): Promise<readonly Arrival[]> {
    const read = () =>
      readFileSync(this.#record)
        .subarray(before)
        .toString('utf8')
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line) as Arrival);
    if (!('arrivesAt' in proof)) return read();
    const hasArrived = () => read().some(({ text }) => text.includes(nonce));
    await waitFor(hasArrived, { what: 'the datagram', timeoutMs: 500, everyMs: 50 }).catch(() => undefined);
    return read();
  }

  /** Starts one more service on the server's loopback. */
  serveOnLoopback(name: TokenName, port: number): Promise<void> {
    return this.#serve(name, [{ kind: 'tcp', host: '127.0.0.1', port, token: this.token(name) }], []);
  }

  async #openTargets(): Promise<void> {
    const everywhere = (kind: Target['kind'], hosts: readonly string[], port: number, name: TokenName) =>
      hosts.map((host): Target => ({ kind, host, port, token: this.token(name) }));
    const own = [
      ...everywhere('tcp', ['127.0.0.1', '::1'], PORTS.loopback, 'host-loopback'),
      ...everywhere('tcp', [SERVER.v4, SERVER.v6], PORTS.address, 'host-address'),
      ...everywhere('udp', ['127.0.0.1', '::1'], PORTS.loopbackUdp, 'host-udp'),
      ...everywhere('udp', [SERVER.v4, SERVER.v6], PORTS.addressUdp, 'host-udp'),
      ...everywhere('tcp', ['::'], PORTS.linkLocal, 'host-link-local'),
      ...everywhere('tcp', ['127.0.0.53'], PORTS.loopbackOther, 'host-resolver'),
      ...everywhere('unix', [`\0${this.abstract}`], 0, 'abstract'),
      ...everywhere('unix', [this.engineSocket], 0, 'engine'),
    ];
    const { internetV4, internetV6, private10, private172, private192, carrier, uniqueLocal, private6to4 } = HOSTS;
    const privates = [private10, private172, private192, carrier, uniqueLocal, private6to4];
    const { metadataV4, metadataV6, metadataAzure, metadataAlibaba, metadataNat64 } = HOSTS;
    const metadata = [metadataV4, metadataV6, metadataAzure, metadataAlibaba, metadataNat64];
    const world = [
      ...everywhere('tcp', [internetV4, internetV6], PORTS.world, 'internet'),
      ...everywhere('udp', [internetV4, internetV6], PORTS.datagrams, 'internet'),
      ...everywhere('tcp', metadata, PORTS.world, 'metadata'),
      ...everywhere('udp', metadata, PORTS.datagrams, 'metadata'),
      ...everywhere('tcp', privates, PORTS.world, 'private'),
      ...everywhere('udp', privates, PORTS.datagrams, 'private'),
      ...everywhere('tcp', [`${GATEWAY.linkLocal}%${DEVICE}`], PORTS.linkLocal, 'router'),
      ...everywhere('dns', [HOSTS.resolver], 53, 'resolver'),
      ...everywhere('udp', ['203.0.113.255'], PORTS.datagrams + 2, 'broadcast'),
      ...['239.18.0.1', `ff02::18%${DEVICE}`].map(
        (group): Target => ({
          kind: 'udp',
          host: group.includes(':') ? '::' : '0.0.0.0',
          port: PORTS.datagrams + 3,
          token: this.token('multicast'),
          multicast: { group, device: group.includes(':') ? `::%${DEVICE}` : GATEWAY.v4 },
        }),
      ),
    ];
    await Promise.all([this.#serve('own', own, []), this.#serve('world', world, this.#outside)]);
    chmodSync(this.engineSocket, 0o660);
  }

  async #serve(name: string, targets: readonly Target[], prefix: readonly string[]): Promise<void> {
    const file = join(this.#folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ targets, record: this.#record } satisfies TargetsFile));
    const script = join(import.meta.dirname, 'targets.ts');
    await this.#start([...prefix, nodeOf(ROOT), '--disable-warning=ExperimentalWarning', script, file], {});
  }

  /** Starts copies of the victims as plain processes, for the controls. */
  async #openPlainVictims(): Promise<void> {
    await Promise.all(
      (
        [
          ['victim', PORTS.plainVictim],
          ['wide', PORTS.plainWide],
          ['build', PORTS.plainBuild],
        ] as const
      ).map(async ([name, port]) => {
        const folder = join(this.#folder, name);
        mkdirSync(folder);
        for (const [file, text] of Object.entries(victim({ token: this.token(name), listens: 'wide' })))
          writeFileSync(join(folder, file), text);
        const ready = join(folder, 'ready.js');
        writeFileSync(ready, "await import('./server.js');\nsetTimeout(() => console.log('ready'), 200);\n");
        await this.#start([nodeOf(ROOT), ready], { PORT: String(port) });
      }),
    );
  }

  /** Starts a process and waits until it prints `ready`. */
  async #start([program = '', ...args]: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } });
    this.#children.push(child);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await waitFor(
      () => {
        if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended`);
        return said.includes('ready');
      },
      { what: `${args.join(' ')} to be ready`, timeoutMs: 20_000, everyMs: 20 },
    );
  }
}

/** Parses the output of attack.py. */
export function readAnswers(stdout: string, failure: string): readonly Answer[] {
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"id"'));
  if (lines.length === 0) throw new Error(`the attacks said nothing: ${failure}`);
  return lines.map((line) => JSON.parse(line) as Answer);
}
