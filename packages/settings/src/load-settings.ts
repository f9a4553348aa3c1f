// Reads the settings of `npm start` from command line, environment and file, in this order of precedence. Throws one
// error that names each wrong setting with its source and expected form, never its value.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { Given } from './environment.ts';
import type { Setting } from './setting.ts';
import { type SettingName, settingNames, settings } from './table.ts';

export const DEFAULT_FILE = '/etc/fairlead/fairlead.toml';
export const FILE_VARIABLE = 'FAIRLEAD_SETTINGS_FILE';

export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

export interface SettingsSources {
  /** Settings of the command line, by variable, with the option that each has. */
  readonly flags: Readonly<Record<string, { readonly option: string; readonly value: string }>>;
  /** File from the command line. */
  readonly file: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of relative paths on the command line and in the environment. */
  readonly cwd: string;
  /** File that is read if it exists and no other is named. Default: the one of the system. */
  readonly defaultFile?: string;
}

export interface LoadedSettings {
  /** Settings that a source gives, checked; all others have their defaults. */
  readonly given: Given;
  /** File that was read. */
  readonly file: string | undefined;
}

/** A setting as one source gives it. */
interface Found {
  readonly name: SettingName;
  readonly text: string;
  /** Name of the setting in its source. */
  readonly at: string;
}

const table: Readonly<Record<SettingName, Setting>> = settings;

export function loadSettings(sources: SettingsSources): LoadedSettings {
  const { env, cwd } = sources;
  const file = findFile(sources);
  const layers = [
    fromFlags(sources.flags, cwd),
    fromEnvironment(env, cwd),
    ...(file === undefined ? [] : [fromFile(file)]),
  ];
  const chosen = new Map<SettingName, Found>();
  for (const layer of layers) {
    const hidden = new Set([...chosen.keys()].map((name) => table[name].insteadOf));
    for (const found of layer) {
      if (!chosen.has(found.name) && !hidden.has(found.name)) chosen.set(found.name, found);
    }
  }
  for (const { name, text } of chosen.values()) {
    // Off is the default of every flag, and needs no other setting.
    if (table[name].form.toml === 'boolean' && text === 'false') chosen.delete(name);
  }
  const problems = [...chosen.values()]
    .filter(({ name, text }) => !table[name].form.type.safeParse(text).success)
    .map(({ name, at }) => `${at} must be ${table[name].form.expects}`);
  for (const { name, at } of chosen.values()) {
    const missing = settingNames.find((other) => other === table[name].needs && !chosen.has(other));
    if (missing !== undefined) problems.push(`${at} needs ${missing}, or ${table[missing].key} in the settings file`);
  }
  for (const { name, text, at } of chosen.values()) {
    if (table[name].isSecretFile !== true) continue;
    if (!existsSync(text)) problems.push(`${at} names a file that does not exist`);
    else if (isOpenToOthers(text))
      problems.push(`${at} names a file with a secret that every user of this machine may open: chmod o= ${text}`);
  }
  refuse(problems);
  return { given: Object.fromEntries([...chosen].map(([name, { text }]) => [name, text])), file };
}

/** Loads the settings of an operator's command, which has no options for them. */
export function operatorSettings(env: SettingsSources['env'] = process.env): Given {
  return loadSettings({ flags: {}, file: undefined, env, cwd: env.INIT_CWD ?? process.cwd() }).given;
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new SettingsError(problems.join('\n          '));
}

function findFile({ file, env, cwd, defaultFile = DEFAULT_FILE }: SettingsSources): string | undefined {
  const named = file ?? (env[FILE_VARIABLE] || undefined);
  if (named !== undefined) return resolve(cwd, named);
  return existsSync(defaultFile) ? defaultFile : undefined;
}

/** A group may read the file, such as that of a service which does not own it. */
function isOpenToOthers(file: string): boolean {
  return (statSync(file).mode & 0o007) !== 0;
}

function toPath(name: SettingName, text: string, folder: string): string {
  return table[name].form.toml === 'path' && text !== '' ? resolve(folder, text) : text;
}

function fromFlags(flags: SettingsSources['flags'], cwd: string): Found[] {
  return settingNames.flatMap((name) => {
    const flag = flags[name];
    return flag === undefined ? [] : [{ name, text: toPath(name, flag.value, cwd), at: `--${flag.option}` }];
  });
}

/** An empty variable counts as absent. */
function fromEnvironment(env: SettingsSources['env'], cwd: string): Found[] {
  return settingNames.flatMap((name) => {
    const text = env[name];
    return text === undefined || text === '' ? [] : [{ name, text: toPath(name, text, cwd), at: name }];
  });
}

function fromFile(file: string): Found[] {
  const entries = flatten(readToml(file));
  const byKey = new Map(settingNames.map((name) => [table[name].key, name]));
  const problems: string[] = [];
  const all = entries.flatMap(({ key, value }): Found[] => {
    const name = byKey.get(key);
    const at = `${file}: ${key}`;
    if (name === undefined) {
      problems.push(`${at} is not a setting: docs/settings.md lists all settings`);
      return [];
    }
    const text = toText(value, table[name].form.toml);
    if (text === null) {
      problems.push(`${at} must be ${table[name].form.expects}, as a TOML ${tomlType(table[name].form.toml)}`);
      return [];
    }
    return [{ name, text: toPath(name, text, dirname(file)), at }];
  });
  const secret = all.find(({ name }) => table[name].isSecret === true);
  if (secret !== undefined && isOpenToOthers(file))
    problems.push(`${secret.at} is a secret, and every user of this machine may open the file: chmod o= ${file}`);
  refuse(problems);
  return all;
}

type Toml = Readonly<Record<string, unknown>>;

function readToml(file: string): Toml {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new SettingsError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The parser's message quotes the lines, which may hold a secret.
    throw new SettingsError(`${file}: line ${error.line}, column ${error.column} is not valid TOML`);
  }
}

/** Settings file as keys with their tables. */
function flatten(toml: Toml): { readonly key: string; readonly value: unknown }[] {
  const isTable = (value: unknown): value is Toml =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
  return Object.entries(toml).flatMap(([key, value]) =>
    isTable(value)
      ? Object.entries(value).map(([inner, each]) => ({ key: `${key}.${inner}`, value: each }))
      : [{ key, value }],
  );
}

/** Null for a value of another type. */
function toText(value: unknown, type: Setting['form']['toml']): string | null {
  switch (type) {
    case 'integer':
      return Number.isInteger(value) ? String(value) : null;
    case 'list':
      return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value.join(',') : null;
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : null;
    default:
      return typeof value === 'string' ? value : null;
  }
}

function tomlType(type: Setting['form']['toml']): string {
  if (type === 'list') return 'list of strings';
  return type === 'path' ? 'string' : type;
}
