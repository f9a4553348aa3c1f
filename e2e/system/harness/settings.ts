// Parts of settings.test.ts: the settings file, and what its tests ask of a running product.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SettingName } from '@fairlead/settings';
import { test } from 'vitest';
import type { Dashboard } from '../../../tools/lib/dashboard-client.ts';
import { waitFor } from '../../../tools/lib/wait.ts';

export const ORGANIZATION = 'my-organization';

/** Settings with a test. */
export const covered = new Set<SettingName>();

/** Declares a test of the effect of these settings. */
export function effect(names: readonly SettingName[], title: string, body: () => Promise<void>): void {
  for (const name of names) covered.add(name);
  test(`${title} (${names.join(', ')})`, body);
}

/** Writes a settings file with every kind of key; returns its path. */
export function writeSettings(folder: string, smtpUrl: string, ports: Readonly<Record<string, number>>): string {
  const file = join(folder, 'fairlead.toml');
  const lines = [
    // The environment and an option overrule these two.
    'public_url = "https://file.example.com"',
    'agent_url = "https://file.example.com"',
    'control_host = "panel.localhost"',
    'public_ca_file = "data/agent/ca/ca.pem"',
    'data_dir = "data"',
    'artifact_store_dir = "artifacts"',
    'agent_binary = "offered-agent"',
    'master_key_file = "key"',
    'outbound_allow = ["127.0.0.1"]',
    'security_contact = "mailto:security@example.com"',
    'log_level = "debug"',
    'github_sign_in_app = "gha_notconnected"',
    '[mail]',
    `smtp_url = "${smtpUrl}"`,
    '[listen]',
    'gateway = "127.0.0.2"',
    '[ports]',
    ...Object.entries(ports).map(([name, port]) => `${name} = ${port}`),
    '[limits]',
    'calls_per_minute = 300',
    'builds_per_server = 1',
    'worker_jobs = 2',
    'free_disk_mib = 100',
    '[database]',
    'web_pool = 2',
    'gateway_pool = 4',
    'worker_pool = 5',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  return file;
}

interface Deployment {
  readonly state: string;
  readonly waiting: { readonly reason: string; readonly sentence: string } | null;
}

/** Deploys two apps with endless builds; returns the sentence that says why the second one waits. */
export async function waitReasonOfSecondBuild(dashboard: Dashboard): Promise<string> {
  const hello = await dashboard.query<{ repositoryUrl: string; branch: string }>('app.get', ORGANIZATION, {
    slug: 'hello',
  });
  const { items } = await dashboard.query<{ items: { id: string }[] }>('server.list', ORGANIZATION);
  const { repositoryUrl, branch } = hello;
  const begin = async (name: string) => {
    const input = {
      name,
      source: { kind: 'git', repositoryUrl, branch, rootFolder: 'examples/hello-node' },
      serverIds: items.map(({ id }) => id),
      settings: { buildCommand: ['sleep', '600'] },
    };
    const { deploymentId } = await dashboard.call<{ deploymentId: string }>('app.create', input, ORGANIZATION);
    return deploymentId;
  };
  const get = (deploymentId: string) => dashboard.query<Deployment>('deployment.get', ORGANIZATION, { deploymentId });
  const first = await begin('first');
  await waitFor(async () => (await get(first)).state === 'building', {
    what: 'a build',
    timeoutMs: 60_000,
    everyMs: 500,
  });
  const second = await begin('second');
  const { state, waiting } = await get(second);
  for (const deploymentId of [second, first]) await dashboard.call('deployment.cancel', { deploymentId }, ORGANIZATION);
  // A build that a server has taken waits there too, but is no longer queued.
  return `${state}: ${waiting?.sentence}`;
}

/** Calls until a status is not 200, at most `callsMax` times; returns the last status. */
export async function firstRefusal(call: () => Promise<number>, callsMax: number): Promise<number> {
  // Concurrent calls: the window of a limit is a minute long.
  const concurrent = 25;
  for (let calls = 0; calls < callsMax; calls += concurrent) {
    const statuses = await Promise.all(Array.from({ length: concurrent }, call));
    const refusal = statuses.find((status) => status !== 200);
    if (refusal !== undefined) return refusal;
  }
  return 200;
}

/** Returns the environment of a process as `NAME=value`. */
export function environmentOf(pid: number | undefined): readonly string[] {
  return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
}

/** Returns the command lines of all processes. */
export function commandLines(): string {
  return execFileSync('ps', ['-eo', 'args']).toString();
}

/** Waits for a mail that contains the text. */
export function mailWith(folder: string, text: string): Promise<string> {
  const find = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.eml'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .find((each) => each.includes(text));
  return waitFor(async () => find(), { what: `a mail with ${text}`, timeoutMs: 20_000 });
}
