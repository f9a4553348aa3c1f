import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readEnvironment, variablesFor } from './environment.ts';
import { PORTS, SETTING_OPTIONS } from './flags.mjs';
import { loadSettings, SettingsError, type SettingsSources } from './load-settings.ts';
import type { Setting } from './setting.ts';
import { settings } from './table.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-settings-'));
  file = join(folder, 'fairlead.toml');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(text: string, mode = 0o640): void {
  writeFileSync(file, text);
  chmodSync(file, mode);
}

function load(sources: Partial<SettingsSources> = {}) {
  return loadSettings({ flags: {}, file, env: {}, cwd: '/home/ada', ...sources });
}

const flag = (option: string, value: string) => ({ option, value });

describe('table', () => {
  const rows = Object.entries<Setting>(settings);

  test('each key, variable and option stands once, and each option is a setting that is no secret', () => {
    const keys = rows.map(([, { key }]) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key).toMatch(/^[a-z_]+(\.[a-z_]+)?$/);
    const options = [...SETTING_OPTIONS, ...PORTS];
    expect(new Set(options.map(({ option }) => option)).size).toBe(options.length);
    for (const { option, variable } of options) {
      const row = rows.find(([name]) => name === variable)?.[1];
      expect([option, row?.isSecret ?? false, row === undefined]).toEqual([option, false, false]);
    }
  });

  test('a process gets its own settings only, and mail secrets reach neither gateway nor start', () => {
    const given = {
      FAIRLEAD_SMTP_URL: 'smtp://ada:hunter2@mail.example.com',
      LOG_LEVEL: 'debug',
      FAIRLEAD_DATA_DIR: '/d',
    };
    expect(variablesFor('gateway', given)).toEqual({ LOG_LEVEL: 'debug' });
    expect(variablesFor('start', given)).toEqual({ FAIRLEAD_DATA_DIR: '/d' });
    expect(Object.keys(variablesFor('worker', given))).toEqual(['FAIRLEAD_SMTP_URL', 'LOG_LEVEL', 'FAIRLEAD_DATA_DIR']);
  });

  test('a process names every missing or wrong variable at once, and no value', () => {
    const source = { DATABASE_URL: 'mysql://hunter2@host/x', FAIRLEAD_WORKER_POOL: '0', LOG_LEVEL: 'loud' };
    const read = () => readEnvironment('worker', source);
    expect(read).toThrow(/DATABASE_URL must be a postgresql:\/\/ URL/);
    expect(read).toThrow(/FAIRLEAD_WORKER_POOL must be a whole number from 1 to 500/);
    expect(read).toThrow(/LOG_LEVEL must be debug, info, warn or error/);
    expect(read).toThrow(/FAIRLEAD_MASTER_KEY_FILE must be a path/);
    expect(read).not.toThrow(/hunter2|loud/);
  });
});

describe('precedence', () => {
  test('an option counts before the environment, that before the file, and that before the default', () => {
    write('public_url = "https://file.example"\nagent_url = "https://file.example"\nlog_level = "warn"\n');
    const { given } = load({
      flags: { FAIRLEAD_PUBLIC_URL: flag('public-url', 'https://option.example') },
      env: { FAIRLEAD_PUBLIC_URL: 'https://env.example', FAIRLEAD_AGENT_URL: 'https://env.example', LOG_LEVEL: '' },
    });
    expect(given).toEqual({
      FAIRLEAD_PUBLIC_URL: 'https://option.example',
      FAIRLEAD_AGENT_URL: 'https://env.example',
      LOG_LEVEL: 'warn',
    });
    expect(readEnvironment('start', given).FAIRLEAD_WEB_PORT).toBe(4400);
  });

  test('a mail server from a higher source hides the file with another from a lower one', () => {
    writeFileSync(join(folder, 'smtp-url'), 'smtp://other.example.com', { mode: 0o600 });
    write('[mail]\nsmtp_url_file = "smtp-url"\nfrom = "Fairlead <a@example.com>"\n');
    const url = 'smtp://mail.example.com';
    expect(load({ env: { FAIRLEAD_SMTP_URL: url } }).given).toEqual({
      FAIRLEAD_SMTP_URL: url,
      FAIRLEAD_MAIL_FROM: 'Fairlead <a@example.com>',
    });
    expect(load().given.FAIRLEAD_SMTP_URL_FILE).toBe(join(folder, 'smtp-url'));
  });

  test('a path starts at the folder of the file, or at the folder of the user', () => {
    write('artifact_store_dir = "artifacts"\nmaster_key_file = "/keys/master"\n');
    expect(load({ env: { FAIRLEAD_AGENT_BINARY: 'agent' } }).given).toEqual({
      FAIRLEAD_ARTIFACT_STORE_DIR: join(folder, 'artifacts'),
      FAIRLEAD_MASTER_KEY_FILE: '/keys/master',
      FAIRLEAD_AGENT_BINARY: '/home/ada/agent',
    });
  });

  test('the file is the one of the option, of the variable, or the default one if it exists', () => {
    write('log_level = "warn"\n');
    const none = { file: undefined, defaultFile: join(folder, 'absent.toml') };
    expect(load(none)).toEqual({ given: {}, file: undefined });
    expect(load({ ...none, defaultFile: file }).file).toBe(file);
    expect(load({ ...none, env: { FAIRLEAD_SETTINGS_FILE: file } }).given).toEqual({ LOG_LEVEL: 'warn' });
    const absent = join(folder, 'absent.toml');
    expect(() => load({ file: absent })).toThrow(`${absent} cannot be read: ENOENT`);
  });

  test('a flag that is off in a higher source hides one that is on, and needs nothing', () => {
    write('public_url = "https://file.example"\nbehind_proxy = true\n');
    expect(load().given).toEqual({ FAIRLEAD_PUBLIC_URL: 'https://file.example', FAIRLEAD_BEHIND_PROXY: 'true' });
    expect(load({ env: { FAIRLEAD_BEHIND_PROXY: 'false' } }).given).toEqual({
      FAIRLEAD_PUBLIC_URL: 'https://file.example',
    });
    write('behind_proxy = false\n');
    expect(load().given).toEqual({});
  });

  test('lists, numbers and empty texts have their TOML types', () => {
    write(
      'trusted_proxies = ["10.0.0.0/8", "::1"]\ncontrol_host = ""\n[ports]\nweb = 8080\n[database]\nweb_pool = 20\n',
    );
    const { given } = load();
    expect(readEnvironment('start', given)).toMatchObject({
      FAIRLEAD_WEB_PORT: 8080,
      FAIRLEAD_WEB_POOL: 20,
      FAIRLEAD_CONTROL_HOST: '',
    });
    expect(given.FAIRLEAD_TRUSTED_PROXIES).toBe('10.0.0.0/8,::1');
  });
});

describe('errors name source, key and expected form, never the value', () => {
  const secret = 'hunter2';
  test.each([
    ['an unknown key', `publik_url = "${secret}"`, 'publik_url is not a setting: docs/settings.md lists all settings'],
    ['an unknown table', `[secret]\nurl = "${secret}"`, 'secret.url is not a setting'],
    ['a table instead of a value', `[public_url]\nhost = "${secret}"`, 'public_url.host is not a setting'],
    [
      'a wrong form',
      `public_url = "http://${secret}.example"`,
      'public_url must be an https URL, or an http URL of this',
    ],
    [
      'a text as a number',
      `[ports]\nweb = "${secret}"`,
      'ports.web must be a whole number from 1 to 65535, as a TOML integer',
    ],
    ['a number as a text', 'log_level = 7', 'log_level must be debug, info, warn or error, as a TOML string'],
    [
      'a text as a list',
      `trusted_proxies = "${secret}"`,
      'trusted_proxies must be a list of IP addresses and networks',
    ],
    [
      'a number that is too large',
      '[limits]\nworker_jobs = 1000',
      'limits.worker_jobs must be a whole number from 1 to 100',
    ],
    [
      'a mail server without a sender',
      '[mail]\nsmtp_url = "smtp://mail"',
      'mail.smtp_url needs FAIRLEAD_MAIL_FROM, or mail.from',
    ],
    [
      'a public host that agents refuse',
      `public_url = "https://${secret}_.example"`,
      'public_url must be an https URL',
    ],
    ['a public host with a final dot', `public_url = "https://${secret}.example."`, 'public_url must be an https URL'],
    ['a control host with an empty label', `control_host = "${secret}..example"`, 'control_host must be a host name'],
    [
      'a public URL with a path',
      `public_url = "https://fairlead.example.com/${secret}"`,
      'public_url must be an https URL, or an http URL of this machine, without a path',
    ],
    [
      'a public URL with a password',
      `public_url = "https://ada:${secret}@fairlead.example.com"`,
      'public_url must be an https URL',
    ],
    ['a reverse proxy without a URL', 'behind_proxy = true', 'behind_proxy needs FAIRLEAD_PUBLIC_URL, or public_url'],
    [
      'an authority without a reverse proxy',
      'public_url = "https://fairlead.example.com"\npublic_ca_file = "ca.pem"',
      'public_ca_file needs FAIRLEAD_BEHIND_PROXY, or behind_proxy',
    ],
    [
      'a schedule without a folder',
      '[backup]\nschedule = "03:30"',
      'backup.schedule needs FAIRLEAD_BACKUP_FOLDER, or backup.folder',
    ],
    [
      'an interval that does not divide the day',
      '[backup]\nfolder = "b"\nschedule = "5h"',
      'backup.schedule must be a time of day (UTC) such as 03:30, or 1h, 2h, 3h, 4h, 6h, 8h or 12h',
    ],
    [
      'a private recovery key',
      `[backup]\nrecipient = "AGE-SECRET-KEY-1${secret}"`,
      'backup.recipient must be a public recovery key, which begins with age1',
    ],
    ['a text as a flag', `behind_proxy = "${secret}"`, 'behind_proxy must be true or false, as a TOML boolean'],
    ['broken TOML', `[mail]\nsmtp_url = "smtp://ada:${secret}`, 'line 2, column'],
  ])('%s', (_what, text, message) => {
    write(text);
    expect(() => load()).toThrow(SettingsError);
    expect(() => load()).toThrow(`${file}: ${message}`);
    expect(() => load()).not.toThrow(secret);
  });

  test('an option and a variable are named as the user wrote them, together', () => {
    write('');
    const wrong = () =>
      load({
        flags: { FAIRLEAD_WEB_HOST: flag('web-host', secret) },
        env: { FAIRLEAD_SMTP_URL: `http://${secret}` },
      });
    expect(wrong).toThrow('--web-host must be an IPv4 or IPv6 address');
    expect(wrong).toThrow('FAIRLEAD_SMTP_URL must be an smtp:// or smtps:// URL');
    expect(wrong).not.toThrow(secret);
  });

  test('a file with a secret that every user may open is refused; without one it is read', () => {
    write(`[mail]\nsmtp_url = "smtp://ada:${secret}@mail.example.com"\nfrom = "a@example.com"\n`, 0o644);
    expect(() => load()).toThrow(
      `${file}: mail.smtp_url is a secret, and every user of this machine may open the file`,
    );
    expect(() => load()).not.toThrow(secret);
    chmodSync(file, 0o640);
    expect(load().given.FAIRLEAD_SMTP_URL).toContain(secret);
    write('log_level = "warn"\n', 0o644);
    expect(load().given).toEqual({ LOG_LEVEL: 'warn' });
  });

  test('a file with a secret that a setting names must exist and be closed to other users', () => {
    write('');
    const secretFile = join(folder, 'smtp-url');
    const env = { FAIRLEAD_SMTP_URL_FILE: secretFile, FAIRLEAD_MAIL_FROM: 'a@example.com' };
    expect(() => load({ env })).toThrow('FAIRLEAD_SMTP_URL_FILE names a file that does not exist');
    writeFileSync(secretFile, `smtp://ada:${secret}@mail.example.com`);
    chmodSync(secretFile, 0o644);
    expect(() => load({ env })).toThrow(`that every user of this machine may open: chmod o= ${secretFile}`);
    chmodSync(secretFile, 0o600);
    expect(load({ env }).given).toEqual(env);
  });
});

test('a schedule is a time of day or an interval', () => {
  const scheduleOf = (text: string) => settings.FAIRLEAD_BACKUP_SCHEDULE.type.parse(text);
  expect(scheduleOf('03:30')).toEqual({ periodMs: 86_400_000, offsetMs: 12_600_000 });
  expect(scheduleOf('6h')).toEqual({ periodMs: 21_600_000, offsetMs: 0 });
  for (const text of ['24:00', '3:30', '03:60', '0h', '6', '6h ']) expect(() => scheduleOf(text)).toThrow();
});
