// Drill of one server: deploys the hostile app and its victims, and judges each attempt and its control.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerId } from '@fairlead/contract/ids';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import type { System } from '../system/harness/system.ts';
import type { Attack, Mode } from './attack.ts';
import { ALLOWED, ATTACKS } from './attacks.ts';
import { ATTEMPT_TIMEOUT_MS, type Fixtures, readAnswers } from './fixtures.ts';
import {
  attackingBuild,
  attackingDockerfile,
  hostileApp,
  hostileContainer,
  listeningBuild,
  REPORT,
  victim,
} from './hostile.ts';
import { SERVER } from './namespaces.ts';
import { fill, findPlaces, instanceOf, type Places } from './placeholders.ts';
import { type Answer, type Attempt, judge, type Verdict } from './verdict.ts';

export interface Outcome {
  readonly id: string;
  readonly attack: Verdict;
  /** Same attempt without isolation, which must succeed. */
  readonly control: Verdict;
}

export interface ModeResult {
  readonly outcomes: readonly Outcome[];
  /** Results of the attempts that apps may make. */
  readonly allowed: readonly { readonly id: string; readonly attack: Verdict }[];
  /** Sentences of the server's page about reduced isolation. */
  readonly sentences: readonly string[];
}

export interface DrillMode {
  readonly mode: Mode;
  readonly attacks: readonly Attack[];
  /** Command-line options of the agent. */
  readonly args: readonly string[];
}

/** Server in one mode. */
export interface ServerUnderAttack extends DrillMode {
  readonly id: ServerId;
  /** Folder and ports of its agent. */
  readonly folder: string;
  readonly httpsPort: number;
  readonly metricsPort: number;
  /** First port of its builds, and the first port of its attacks. */
  readonly buildPort: number;
  readonly leftoverPort: number;
  readonly ownPorts: number;
  /** Returns the slug of one of its apps. */
  slug(name: string): string;
}

type Run = (attempts: readonly Attempt[]) => Promise<readonly Answer[]>;

/** Unprivileged user that no app and no service has. */
const PLAIN_USER = 61_616;
/** Maximum attempts that fit into the path of one request. */
const BATCH = 12;
/** Delay before an attacked app listens. */
const DEPLOY_WINDOW_MS = 4000;
/** Time that a control waits for visitors. */
const CONTROL_SECONDS = 3;
const BUILD_TIMEOUT_MS = 120_000;
const MISSING: Verdict = { verdict: 'could not run', detail: 'it was not tried' };

type AttemptedAttack = Pick<Attack, 'id' | 'technique' | 'args' | 'proof'>;

export class ServerDrill {
  readonly #system: System;
  readonly #fixtures: Fixtures;
  readonly #server: ServerUnderAttack;
  readonly #note: (line: string) => void;
  readonly #verdicts = new Map<string, Verdict>();
  readonly #controls = new Map<string, Verdict>();
  #allowed: ModeResult['allowed'] = [];
  #sentences: readonly string[] = [];
  #places: { readonly real: Places; readonly control: Places } = { real: {}, control: {} };

  constructor(system: System, fixtures: Fixtures, server: ServerUnderAttack, note: (line: string) => void) {
    this.#system = system;
    this.#fixtures = fixtures;
    this.#server = server;
    this.#note = note;
  }

  get mode(): Mode {
    return this.#server.mode;
  }

  result(): ModeResult {
    return {
      outcomes: this.#server.attacks.map(({ id }) => ({
        id,
        attack: this.#verdicts.get(id) ?? MISSING,
        control: this.#controls.get(id) ?? MISSING,
      })),
      allowed: this.#allowed,
      sentences: this.#sentences,
    };
  }

  /** Deploys the hostile app and its victims. */
  async deploy(): Promise<void> {
    const token = (name: 'victim' | 'wide' | 'socketed') => this.#fixtures.token(name);
    await Promise.all([
      this.#deploy('hostile', hostileApp()),
      this.#deploy('victim', victim({ token: token('victim'), listens: 'host' })),
      this.#deploy('wide', victim({ token: token('wide'), listens: 'wide' })),
      this.#deploy('socketed', victim({ token: token('socketed'), listens: 'socket' })),
      ...(this.#server.attacks.some(usesContainers) ? [this.#deploy('container', hostileContainer())] : []),
    ]);
    const { id } = this.#server;
    this.#sentences = (await this.#system.servers()).find((one) => one.id === id)?.host.isolationOff ?? [];
    this.#places = await findPlaces(this.#system, this.#fixtures, this.#server);
    this.#note('the apps are live');
  }

  async attack(): Promise<void> {
    const { attacks } = this.#server;
    const wantsBuild = attacks.some(({ args }) =>
      ['{buildPort}', '{leftoverPort}'].some((port) => Object.values(args).includes(port)),
    );
    const listening = wantsBuild ? await this.#beginListeningBuild() : undefined;
    const simple = attacks.filter((one) => one.meanwhile === undefined && !floods(one));
    for (const from of ['app', 'container', 'outside'] as const) {
      const own = simple.filter((attack) => attack.from === from);
      for (const [id, verdict] of await this.#attemptAll(own, this.#places.real, this.#runner(from)))
        this.#verdicts.set(id, verdict);
    }
    this.#note('attacks of apps and from outside are over');
    if (listening !== undefined) {
      await this.#system.product.verbs.cancelDeployment({ deploymentId: listening });
      await this.#system.waitForDeployment(listening);
    }
    await this.#attackFromBuild('build', 'attacking', attackingBuild);
    await this.#attackFromBuild('dockerfile', 'boxed', attackingDockerfile);
    this.#note('attacks of builds are over');
    const visited = attacks.filter(({ meanwhile }) => meanwhile === 'visit');
    await Promise.all([
      this.#attackDuringDeploy(),
      ...visited.map(async (attack) => {
        const run = this.#runner(attack.from);
        this.#verdicts.set(attack.id, await this.#attemptWhileVisited(attack, this.#places.real, run));
      }),
    ]);
    const allowed = await this.#attemptAll(ALLOWED, this.#places.real, this.#inApp);
    this.#allowed = ALLOWED.map(({ id }) => ({ id, attack: allowed.get(id) ?? MISSING }));
    this.#note('all attacks are over');
  }

  /** Repeats the attempts in plain processes. */
  async control(): Promise<void> {
    const attacks = this.#server.attacks.filter((one) => !floods(one));
    const kinds = [
      ['outside', undefined, ({ from }: Attack) => from === 'outside'],
      ['server', undefined, ({ from, control }: Attack) => from !== 'outside' && control.as === 'root'],
      ['server', PLAIN_USER, ({ from, control }: Attack) => from !== 'outside' && control.as === 'user'],
    ] as const;
    await Promise.all(
      kinds.map(async ([where, user, isOf]) => {
        const own = attacks.filter((attack) => isOf(attack)).map(asControl);
        const run: Run = (attempts) => this.#fixtures.attempt(where, user, attempts);
        const simple = own.filter(({ meanwhile }) => meanwhile === undefined);
        for (const [id, verdict] of await this.#attemptAll(simple, this.#places.control, run))
          this.#controls.set(id, verdict);
        const visited = own.filter(({ meanwhile }) => meanwhile !== undefined);
        const visit = async (attack: Attack) => {
          this.#controls.set(attack.id, await this.#attemptWhileVisited(attack, this.#places.control, run));
        };
        await Promise.all(visited.map(visit));
      }),
    );
    this.#note('all controls are over');
  }

  /** Runs the attacks that count connections, and their controls. */
  async flood(): Promise<void> {
    for (const attack of this.#server.attacks.filter(floods)) {
      this.#verdicts.set(attack.id, await this.#attempt(attack, this.#places.real, this.#runner(attack.from)));
      const run: Run = (attempts) => this.#fixtures.attempt('server', PLAIN_USER, attempts);
      this.#controls.set(attack.id, await this.#attempt(asControl(attack), this.#places.control, run));
    }
  }

  async #deploy(name: string, files: Readonly<Record<string, string>>): Promise<void> {
    const deploymentId = await this.#begin(name, files, name === 'socketed' ? '' : '/');
    const { state, failureMessage } = await this.#system.waitForDeployment(deploymentId, BUILD_TIMEOUT_MS);
    if (state !== 'live') throw new Error(`${name} could not be deployed: ${failureMessage}`);
  }

  async #begin(name: string, files: Readonly<Record<string, string>>, healthPath = '') {
    const { slug, id } = this.#server;
    const repository = await this.#system.repositories.create(slug(name), files);
    return this.#system.beginApp(slug(name), repository, healthPath, id);
  }

  async #beginListeningBuild() {
    const { buildPort: own, leftoverPort: leftover } = this.#server;
    const files = listeningBuild({ own, leftover }, this.#fixtures.token('build'));
    const deploymentId = await this.#begin('building', files);
    const isListening = async () =>
      (await this.#system.log(deploymentId)).some((line) => line.includes(`${REPORT}listening`));
    await waitFor(isListening, { what: 'the build that listens', timeoutMs: BUILD_TIMEOUT_MS });
    return deploymentId;
  }

  async #attempt(attack: AttemptedAttack, places: Places, run: Run): Promise<Verdict> {
    return (await this.#attemptAll([attack], places, run)).get(attack.id) ?? MISSING;
  }

  async #attemptAll(
    attacks: readonly AttemptedAttack[],
    places: Places,
    run: Run,
  ): Promise<ReadonlyMap<string, Verdict>> {
    const verdicts = new Map<string, Verdict>();
    for (let at = 0; at < attacks.length; at += BATCH) {
      const batch = attacks.slice(at, at + BATCH);
      const before = this.#fixtures.recorded;
      const nonceOf = (id: string) => `${this.mode}/${places === this.#places.control ? 'control' : 'attack'}/${id}/`;
      const broken = (error: unknown) => ({ broken: error instanceof Error ? error.message : String(error) });
      const attempts: Attempt[] = [];
      let answers: readonly Answer[] = [];
      let failure: Answer = { broken: 'it said nothing' };
      for (const { id, technique, args } of batch) {
        try {
          attempts.push({ id, technique, args: fill(args, { ...places, ...this.#ownPlaces(id), nonce: nonceOf(id) }) });
        } catch (error) {
          verdicts.set(id, { verdict: 'could not run', detail: broken(error).broken });
        }
      }
      try {
        if (attempts.length > 0) answers = await run(attempts);
      } catch (error) {
        failure = broken(error);
      }
      for (const { id, proof } of batch.filter((each) => !verdicts.has(each.id))) {
        const answer = answers.find((each) => each.id === id) ?? failure;
        const arrivals = await this.#fixtures.arrivals(before, nonceOf(id), proof);
        verdicts.set(id, judge(proof, answer, { tokens: this.#fixtures.tokens, nonce: nonceOf(id), arrivals }));
      }
    }
    return verdicts;
  }

  /** Returns placeholders with a port that no other attack uses. */
  #ownPlaces(id: string): Places {
    return { ownPort: this.#server.ownPorts + ATTACKS.findIndex((attack) => attack.id === id) };
  }

  #runner(from: Attack['from']): Run {
    if (from === 'outside') return (attempts) => this.#fixtures.attempt('outside', undefined, attempts);
    return from === 'container' ? (attempts) => this.#askHostile('container', attempts) : this.#inApp;
  }

  readonly #inApp: Run = (attempts) => this.#askHostile('hostile', attempts);

  async #askHostile(name: string, attempts: readonly Attempt[]): Promise<readonly Answer[]> {
    const given = Buffer.from(JSON.stringify(attempts)).toString('base64url');
    const { status, body } = await this.#get(name, `/run?attack=${given}`, ATTEMPT_TIMEOUT_MS);
    if (status !== 200) throw new Error(`the hostile app answered ${status}: ${body.slice(0, 200)}`);
    const { stdout, failure } = JSON.parse(body) as { stdout: string; failure: string };
    return readAnswers(stdout, failure);
  }

  #get(name: string, path: string, timeoutMs: number) {
    const { slug, httpsPort: port, folder } = this.#server;
    return requestPinned({ host: `${slug(name)}.localhost`, port, path, caFile: join(folder, 'ca/ca.pem'), timeoutMs });
  }

  /** Runs all attempts of one kind of build in a single build. */
  async #attackFromBuild(
    kind: 'build' | 'dockerfile',
    name: string,
    filesOf: (attempts: readonly unknown[]) => Readonly<Record<string, string>>,
  ): Promise<void> {
    const attacks = this.#server.attacks.filter(({ from }) => from === kind);
    if (attacks.length === 0) return;
    const places = this.#places.real;
    const attempts = attacks.map(({ id, technique, args }) => ({ id, technique, args: fill(args, places) }));
    const ended = await this.#system.waitForDeployment(await this.#begin(name, filesOf(attempts)), BUILD_TIMEOUT_MS);
    const lines = (await this.#system.log(ended.id)).filter((line) => line.includes(REPORT));
    const reports = lines.map(
      (line) => JSON.parse(line.slice(line.indexOf(REPORT) + REPORT.length)) as Answer & { readonly id: string },
    );
    for (const { id, proof } of attacks) {
      const broken = { broken: `the build said nothing of it: ${ended.failureMessage}` };
      const answer = reports.find((report) => report.id === id) ?? broken;
      this.#verdicts.set(id, judge(proof, answer, { tokens: this.#fixtures.tokens, nonce: id, arrivals: [] }));
    }
  }

  /** Deploys apps that listen late, while the attacks wait for their traffic on their ports. */
  async #attackDuringDeploy(): Promise<void> {
    const attacks = this.#server.attacks.filter(({ meanwhile }) => meanwhile === 'deploy');
    const token = this.#fixtures.token('slow');
    const during = async (attack: Attack, at: number) => {
      const name = `slow-${at}`;
      const deploymentId = await this.#begin(name, victim({ token, listens: 'late' }), '/');
      const { pid, port } = await waitFor(
        () => instanceOf(this.#system, this.#server.slug(name)).catch(() => undefined),
        { what: `the instance of ${name}`, timeoutMs: BUILD_TIMEOUT_MS, everyMs: 20 },
      );
      const attempt = this.#attempt(attack, { ...this.#places.real, slowPort: port }, this.#inApp);
      // The port's owner starts after the attacker had time to answer health checks.
      await new Promise((resolve) => setTimeout(resolve, DEPLOY_WINDOW_MS));
      // The signal would end a process that does not yet wait for it.
      await waitFor(() => catchesUserSignal(pid), { what: `the wait of ${name}`, timeoutMs: 30_000 }).catch(
        () => undefined,
      );
      if (catchesUserSignal(pid)) process.kill(pid, 'SIGUSR2');
      const [verdict, ended] = await Promise.all([
        attempt,
        this.#system.waitForDeployment(deploymentId, BUILD_TIMEOUT_MS),
      ]);
      const { body } = await this.#get(name, '/', 5000).catch((error: Error) => ({ body: error.message }));
      const isServed = ended.state === 'live' && body.includes(token);
      const detail = `the app it was after is not served: ${ended.state}, ${ended.failureMessage}, ${body}`;
      const denied: Verdict = { verdict: 'succeeded', detail };
      this.#verdicts.set(attack.id, verdict.verdict === 'stopped' && !isServed ? denied : verdict);
    };
    await Promise.all(attacks.map(during));
  }

  /** Sends requests to the attacked port, from outside and on the server itself, while the attack waits there. */
  async #attemptWhileVisited(attack: Attack, places: Places, run: Run): Promise<Verdict> {
    const filled = fill(attack.args, { ...places, ...this.#ownPlaces(attack.id) });
    const { host, port, seconds } = filled as { host: string; port: number; seconds: number };
    const isV6 = host.includes(':');
    const kind = attack.technique === 'receive' ? 'udp' : 'tcp';
    const ends = [
      ['outside', isV6 ? SERVER.v6 : SERVER.v4],
      ['server', isV6 ? '::1' : '127.0.0.1'],
    ] as const;
    const visits = ends.map(([where, to]) =>
      this.#fixtures.attempt(where, undefined, [
        { id: 'visit', technique: 'visit', args: { host: to, port, seconds, kind } },
      ]),
    );
    const [verdict, ...seen] = await Promise.all([this.#attempt(attack, places, run), ...visits]);
    if (verdict.verdict !== 'succeeded' || kind === 'udp' || seen.some(([visit]) => visit?.got === 'thief'))
      return verdict;
    return { verdict: 'stopped', detail: 'no visitor got to it' };
  }
}

/** True if SIGUSR2 is in the process's mask of caught signals (proc_pid_status(5)). */
function catchesUserSignal(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/status`)) return false;
  const caught = /^SigCgt:\t([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${caught}`) & (1n << 11n)) !== 0n;
}

export function usesContainers({ from }: Attack): boolean {
  return from === 'container' || from === 'dockerfile';
}

function floods({ proof }: Attack): boolean {
  return 'floods' in proof;
}

/** Returns the attack as a plain process performs it. */
function asControl(attack: Attack): Attack {
  const waits = attack.meanwhile === undefined ? {} : { port: '{ownPort}', seconds: CONTROL_SECONDS };
  return { ...attack, args: { ...(attack.control.args ?? attack.args), ...waits } };
}
