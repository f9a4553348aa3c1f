// Secrets drill on a real server: an agent unseals planted secrets, and an app gets them by environment and file and
// logs them all, as does its build. Also runs while the control plane is away and logs wait on the server's disk.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readAllTables } from '@fairlead/db/testing/cluster';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp } from '../system/harness/apps.ts';
import { type Gates, openGates } from '../system/harness/gates.ts';
import { System } from '../system/harness/system.ts';
import { filesOf } from './files.ts';
import { type LoggingAppOptions, loggingApp } from './logging-app.ts';
import { plantedSecrets } from './planted.ts';
import { placesOfProcesses, requireOnTmpfs } from './processes.ts';
import type { Haystack, Planted } from './search.ts';

const SLUG = 'talker';
const PLANTED = 48;

export interface AgentDrill {
  /** Values, and each line of multi-line values: a log has them separately. */
  readonly planted: readonly Planted[];
  /** Data folder of the agent, so that a test can plant a leak. */
  readonly agentFolder: string;
  /**
   * Returns every file of the server and of the control plane, its tables, and what other processes can see of
   * Fairlead's own.
   */
  collect(): Promise<Haystack[]>;
  stop(): Promise<void>;
}

export async function startAgentDrill(note: (line: string) => void = () => {}): Promise<AgentDrill> {
  const system = await System.start();
  const gates = await openGates();
  const stop = async () => {
    await gates.close();
    await system.stop();
  };
  try {
    note('a server runs');
    const all = plantedSecrets();
    const long = all.filter(({ value }) => value.length > 10_000).slice(0, 1);
    const planted = [...all.slice(0, PLANTED), ...long];
    const kept = await live(system, gates, planted, note);
    return {
      planted: planted.flatMap(withLines),
      agentFolder: system.agentFolder,
      collect: async () => [
        ...kept,
        ...(await filesOf(system.dataFolder, 'file')),
        ...(await readAllTables(system.controlPlane.databaseUrl)).map(({ name, rows }) => ({
          name: `table ${name}`,
          bytes: Buffer.from(rows.join('\n')),
        })),
        ...placesOfProcesses(await instanceOf(system), await ownProcesses(system)),
      ],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function live(
  system: System,
  gates: Gates,
  planted: readonly Planted[],
  note: (line: string) => void,
): Promise<Haystack[]> {
  const environment = planted.filter((_, index) => index % 3 !== 0);
  const files = planted.filter((_, index) => index % 3 === 0);
  const names = { environment: environment.map(({ name }) => name), files: files.map(({ name }) => name) };
  const talk = (mark: string): LoggingAppOptions => ({ ...names, mark, gate: gates.address(mark) });
  const values = [...environment, ...files].map(({ value }) => value);
  // Half of each kind are build secrets too; the digest proves that the others were not there.
  const marked = new Set(planted.filter((_, index) => index % 4 < 2).map(({ name }) => name));
  const built = [...environment, ...files].flatMap(({ name, value }) => (marked.has(name) ? [[name, value]] : []));

  const repository = await system.repositories.create(SLUG, respondingApp('no secrets yet'));
  const { appId } = await system.createApp(SLUG, repository);
  await system.setSecrets(appId, [
    ...environment.map((secret) => ({ ...secret, delivery: 'environment' as const, atBuild: marked.has(secret.name) })),
    ...files.map((secret) => ({ ...secret, delivery: 'file' as const, atBuild: marked.has(secret.name) })),
  ]);
  await repository.commit('Tell everything', loggingApp(talk('told-once')));
  gates.open('told-once');
  const first = await system.deploy(appId);
  if (first.state !== 'live') throw new Error(`the talker is ${first.state}: ${first.failureMessage}`);
  // The search proves nothing if the secrets never arrived.
  await waitFor(async () => (await system.get(SLUG)).body === `${digestOf(values)} ${digestOf(built)}`, {
    what: 'the secrets in the app',
    timeoutMs: 30_000,
  });
  requireOnTmpfs(await instanceOf(system), names.files);
  await waitForOutput(join(system.agentFolder, 'logs'), 'told-once');
  const ofBuild = outputWithMark((await system.log(first.id)).join('\n'), 'told-once, built');
  if (ofBuild === undefined) throw new Error('the build told nothing in its log');
  note(
    'an app and its build have them and told them; now one that tells them and dies while the control plane is away',
  );

  await repository.commit('Tell everything and die', loggingApp({ ...talk('told-twice'), dies: true }));
  const { deploymentId } = await system.product.verbs.createDeployment({ appId });
  await gates.arrived('told-twice');
  await system.controlPlane.stopServices();
  gates.open('told-twice');
  // The last output of a process that died belongs to the log of the deployment, which waits for the control plane.
  const spooled = await waitForOutput(join(system.agentFolder, 'spool'), 'told-twice');
  await system.controlPlane.start();
  const second = await system.waitForDeployment(deploymentId);
  if (second.state !== 'failed') throw new Error(`what died was deployed: ${second.state}`);
  const log = await waitFor(async () => outputWithMark((await system.log(deploymentId)).join('\n'), 'told-twice'), {
    what: 'the last words in the log of the deployment',
    timeoutMs: 30_000,
  });
  return [
    ...spooled,
    { name: 'log of the build', bytes: Buffer.from(ofBuild) },
    { name: 'log of the deployment', bytes: Buffer.from(log) },
  ];
}

function digestOf(given: unknown): string {
  return createHash('sha256').update(JSON.stringify(given)).digest('hex');
}

/** Returns all files of the folder, once one of them has the app's output. */
function waitForOutput(folder: string, mark: string): Promise<Haystack[]> {
  const hasOutput = ({ bytes }: Haystack) => outputWithMark(Buffer.from(bytes).toString('latin1'), mark) !== undefined;
  return waitFor(
    async () => {
      const files = await filesOf(folder, folder);
      return files.some(hasOutput) ? files : undefined;
    },
    { what: `what the app told in ${folder}`, timeoutMs: 60_000 },
  );
}

/** Returns the text once it contains the mark and a secret's replacement. */
function outputWithMark(text: string, mark: string): string | undefined {
  return text.includes(mark) && text.includes('[redacted]') ? text : undefined;
}

async function instanceOf(system: System): Promise<number> {
  const { instances } = await system.app(SLUG);
  const pid = instances.find(({ state }) => state === 'healthy')?.pid;
  if (pid === undefined || pid === null) throw new Error('the talker has no instance');
  return pid;
}

async function ownProcesses(system: System): Promise<readonly number[]> {
  const known = [system.agentPid, await system.proxyPid(), system.servicePid('gateway'), system.servicePid('worker')];
  return known.flatMap((pid) => pid ?? []);
}

function withLines({ name, value }: Planted): Planted[] {
  const lines = value
    .split('\n')
    .filter((line) => line.length > 20 && line.length < value.length && !line.startsWith('-'));
  return [{ name, value }, ...lines.map((line, index) => ({ name: `${name}, line ${index + 1}`, value: line }))];
}
