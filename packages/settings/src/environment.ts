// Environment of one process, typed and checked by the table of settings.
import { z } from 'zod';
import type { ProcessName, Setting } from './setting.ts';
import { derived, type SettingName, settings, type VariableName } from './table.ts';

type Variables = typeof settings & typeof derived;

/** Schema of the variables that a process needs. */
type Shape<P extends ProcessName> = {
  [N in VariableName as P extends Variables[N]['processes'][number] ? N : never]: Variables[N]['type'];
};

export type Environment<P extends ProcessName> = z.output<z.ZodObject<Shape<P>>>;

/** Settings as texts of environment variables. */
export type Given = Readonly<Partial<Record<SettingName, string>>>;

type Source = Readonly<Record<string, string | undefined>>;

const variables: Readonly<Record<string, Setting>> = { ...settings, ...derived };

function variablesOf(process: ProcessName): [string, Setting][] {
  return Object.entries(variables).filter(([, { processes }]) => processes.includes(process));
}

/** Returns the variables that a process needs; no other process's secrets. */
export function variablesFor(
  process: ProcessName,
  texts: Readonly<Partial<Record<VariableName, string>>>,
): Record<string, string> {
  const needed = variablesOf(process).map(([name]) => name);
  return Object.fromEntries(Object.entries(texts).filter(([name]) => needed.includes(name)));
}

/** Throws one error that names every missing or invalid variable, never its value. */
export function readEnvironment<P extends ProcessName>(process: P, source: Source): Environment<P> {
  const needed = variablesOf(process);
  const schema = z.object(Object.fromEntries(needed.map(([name, { type }]) => [name, type])));
  const parsed = schema.safeParse(source);
  if (parsed.success) return parsed.data as Environment<P>;
  const wrong = new Set(parsed.error.issues.map(({ path }) => String(path[0])));
  const problems = [...wrong].map((name) => `${name} must be ${variables[name]?.form.expects}`);
  throw new Error(`the environment is not complete: ${problems.join('; ')}`);
}

type DefaultOf<S> = S extends { readonly type: z.ZodDefault<infer T> } ? z.output<T> : never;

/** Returns the default of a setting that has one. */
export function defaultOf<N extends SettingName>(name: N): DefaultOf<(typeof settings)[N]> {
  return settings[name].type.parse(undefined) as DefaultOf<(typeof settings)[N]>;
}

/** Database connections of each process; `jobs` are connections of the worker's queue. */
export interface PoolSizes {
  readonly web: number;
  readonly gateway: number;
  readonly worker: number;
  readonly jobs: number;
}

export function poolSizes(
  environment: Pick<
    Environment<'web'>,
    'FAIRLEAD_WEB_POOL' | 'FAIRLEAD_GATEWAY_POOL' | 'FAIRLEAD_WORKER_POOL' | 'FAIRLEAD_WORKER_JOBS'
  >,
): PoolSizes {
  return {
    web: environment.FAIRLEAD_WEB_POOL,
    gateway: environment.FAIRLEAD_GATEWAY_POOL,
    worker: environment.FAIRLEAD_WORKER_POOL,
    jobs: environment.FAIRLEAD_WORKER_JOBS,
  };
}

export interface BuildSlots {
  readonly perServer: number;
  readonly perOrganization: number;
}

export function buildSlots(
  environment: Pick<Environment<'web'>, 'FAIRLEAD_BUILDS_PER_SERVER' | 'FAIRLEAD_BUILDS_PER_ORGANIZATION'>,
): BuildSlots {
  return {
    perServer: environment.FAIRLEAD_BUILDS_PER_SERVER,
    perOrganization: environment.FAIRLEAD_BUILDS_PER_ORGANIZATION,
  };
}

/** Returns the bytes of the control plane's disk that stay free. */
export function freeBytesMin(environment: Pick<Environment<'web'>, 'FAIRLEAD_FREE_DISK_MIB'>): number {
  return environment.FAIRLEAD_FREE_DISK_MIB * 1024 ** 2;
}

/** Returns the public keys of releases; a clone has none. */
export function releaseKeys(environment: Pick<Environment<'worker'>, 'FAIRLEAD_RELEASE_KEYS'>): readonly string[] {
  return environment.FAIRLEAD_RELEASE_KEYS.split(',').filter((key) => key !== '');
}
