// Deploys a list of apps one by one through one real control plane and agent, and prints each result. Watches a live
// app while the next ones deploy. An app that fails never stops the list.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';
import { buildAgent, generateClient } from '../../tools/start/builds.ts';
import { type App, nameOf } from './real-app.ts';
import type { AppResult, RunOptions, Watch } from './run-app.ts';

export const HEALTHY_SECONDS = 60;
/** Maximum number of watched apps: each takes memory. */
const WATCHED_MAX = 4;

export interface ListOptions extends RunOptions {
  /** Default: below the clone. */
  readonly dataFolder: string | undefined;
  /** File for the results as JSON, rewritten after each app. */
  readonly outFile: string | undefined;
}

export interface ListResult {
  readonly results: readonly AppResult[];
  /** Number of apps that the check itself could not run. */
  readonly broken: number;
}

/** Runs the apps with their index in the whole list. */
export async function runList(apps: readonly (readonly [number, App])[], options: ListOptions): Promise<ListResult> {
  await generateClient(() => undefined);
  await buildAgent(() => undefined);
  // Both modules load the client that was just generated.
  const { System } = await import('../system/harness/system.ts');
  const { deployApp } = await import('./run-app.ts');

  // The data is below the clone, as with `npm start`: no file of Fairlead may get into a build.
  const parent = options.dataFolder ?? join(ROOT, '.fairlead/apps');
  mkdirSync(parent, { recursive: true });
  const results: AppResult[] = [];
  let broken = 0;
  const system = await System.start({ parent });
  const attempt = async <T>(app: App, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      broken++;
      console.log(`FAIL ${nameOf(app)} could not run: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  const watched = new Set<Promise<void>>();
  const watch = async (app: App, ending: Watch) => {
    const result = await attempt(app, ending);
    if (result === undefined) return;
    results.push(result);
    show(result);
    if (options.outFile !== undefined) writeFileSync(options.outFile, `${JSON.stringify(results, shown, 2)}\n`);
  };
  try {
    for (const [index, app] of apps) {
      while (watched.size >= WATCHED_MAX) await Promise.race(watched);
      const ending = await attempt(app, () => deployApp(system, app, index, options));
      if (ending === undefined) continue;
      const watching: Promise<void> = watch(app, ending).finally(() => watched.delete(watching));
      watched.add(watching);
    }
    await Promise.all(watched);
  } finally {
    await system.stop();
  }
  return { results, broken };
}

function show(result: AppResult): void {
  const { name, outcome, failureCode, failureMessage, durationsMs } = result;
  const seconds = Math.round((durationsMs.deploy ?? 0) / 1000);
  console.log(`${outcome === 'wrong advice' ? 'FAIL' : 'ok  '} ${name}: ${outcome}, ${seconds} s`);
  if (failureCode !== null) console.log(`       ${failureCode}: ${failureMessage}`);
  for (const problem of result.problems) console.log(`       ${problem}`);
  for (const { host, line } of result.refusals) console.log(`       refused: ${host}: ${line}`);
}

function shown(_: string, value: unknown): unknown {
  return value instanceof RegExp ? String(value) : value;
}
