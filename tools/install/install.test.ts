import { appendFileSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestRoot } from './testing-root.ts';

const DATA = 'var/lib/fairlead-control-plane';
// Each installation verifies signatures in Perl and unpacks an archive.
vi.setConfig({ testTimeout: 90_000 });
let root: TestRoot;

beforeEach(() => {
  root = new TestRoot();
});
afterEach(() => root.remove());

const calls = () => root.read('calls').trim().split('\n');
const migrations = () => root.read(DATA, 'postgres/migrations');

test('an installation starts the unit and prints address, set-up link and fingerprint', () => {
  const from = root.release({ version: '1.0.0' });
  const { code, output } = root.install(
    from,
    '--yes',
    '--public-url',
    'paas.example.com',
    '--email',
    'ops@example.com',
  );
  expect(output).toContain('version 1.0.0 is installed');
  expect(code).toBe(0);
  expect(output).toContain('Dashboard    https://paas.example.com');
  expect(output).toContain('https://paas.example.com/setup#token=secret');
  // SHA-256 of three zero bytes.
  expect(output).toContain('SHA-256 70:9E:80:C8:84:87:A2:41');
  expect(output).toContain('which signs certificates of https://paas.example.com');
  expect(output).toContain('ufw allow 80,443/tcp');
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.0.0');
  expect(root.read('etc/fairlead/fairlead.toml')).toContain(
    'public_url = "https://paas.example.com"\nsecurity_contact = "mailto:ops@example.com"\n',
  );
  expect(statSync(root.path('etc/fairlead/fairlead.toml')).mode & 0o777).toBe(0o640);
  expect(calls()).toContain('chown root:fairlead /etc/fairlead/fairlead.toml.new');
  expect(calls()).toContain('enable --quiet fairlead.service');
  expect(root.read('etc/systemd/system/fairlead.service')).not.toMatch(/@[A-Z]+@/);
  expect(statSync(root.path('var/log/fairlead/start.log')).mode & 0o777).toBe(0o600);
  expect(readdirSync(root.path('opt/fairlead')).sort()).toEqual(['1.0.0', 'current']);
});

test('a piped script downloads the release over https only', () => {
  const from = root.release({ version: '1.0.0' });
  // Takes the place of a web server.
  root.program(
    'curl',
    `#!/bin/sh\nfor last; do :; done\nwhile [ "$1" != --output ]; do shift; done\ncp "${from}/\${last##*/}" "$2"\n`,
  );
  const script = readFileSync(join(from, 'install.sh'), 'utf8');
  const plain = root.run(['sh', '-s', '--', '--yes', '--from', 'http://fairlead.example.com/1.0.0'], script);
  expect(plain).toMatchObject({ code: 1, output: expect.stringContaining('a folder or an https address') });
  const piped = root.run(['sh', '-s', '--', '--yes', '--from', 'https://fairlead.example.com/1.0.0/'], script);
  expect(piped).toMatchObject({ code: 0, output: expect.stringContaining('version 1.0.0 is installed') });
  // A truncated download runs nothing.
  expect(root.run(['sh', '-s', '--', '--help'], script.slice(0, -10))).toMatchObject({ code: 0, output: '' });
});

test('the questions are asked without --yes, and a wrong address is refused', () => {
  const from = root.release({ version: '1.0.0' });
  const install = ['sh', join(from, 'install.sh'), '--from', from];
  expect(root.run(install, 'a"; x = "1\n\n')).toMatchObject({
    code: 1,
    output: expect.stringContaining('--public-url'),
  });
  expect(existsSync(root.path('opt/fairlead'))).toBe(false);
  for (const wrong of ['http://paas.example.com', 'https://paas.example.com/path', 'https://[::1'])
    expect(root.install(from, '--yes', '--public-url', wrong).output).toContain('must be an https address');
  expect(root.run(install, 'paas.example.com\nops@example.com\n').code).toBe(0);
  expect(root.read('etc/fairlead/fairlead.toml')).toContain('public_url = "https://paas.example.com"\n');
});

test('a second installation changes nothing, and repairs what is missing', () => {
  const from = root.release({ version: '1.0.0' });
  expect(root.install(from, '--yes', '--email', 'ops@example.com').code).toBe(0);
  appendFileSync(root.path('etc/fairlead/fairlead.toml'), '# mine\n');
  const [settings, started] = [root.read('etc/fairlead/fairlead.toml'), migrations()];
  const again = root.install(from, '--yes', '--email', 'other@example.com');
  expect(again).toMatchObject({ code: 0, output: expect.stringContaining('runs already') });
  expect(migrations()).toBe(started);
  writeFileSync(root.path('opt/fairlead/1.0.0/health'), '1');
  writeFileSync(root.path('etc/systemd/system/fairlead.service'), '');
  const repaired = root.install(from, '--yes');
  expect(repaired).toMatchObject({ code: 0, output: expect.stringContaining('repairing') });
  expect(root.read('opt/fairlead/1.0.0/health')).toBe('0');
  expect(root.read('etc/systemd/system/fairlead.service')).toContain('ExecStart=');
  expect(root.read('etc/fairlead/fairlead.toml')).toBe(settings);
});

test('an installation without a start leaves room for a restore, and the next one starts', () => {
  const from = root.release({ version: '1.0.0' });
  expect(root.install(from, '--yes', '--no-start')).toMatchObject({
    code: 0,
    output: expect.stringContaining('fairlead restore'),
  });
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.0.0');
  expect(migrations()).toBe('');
  expect(root.install(from, '--yes')).toMatchObject({ code: 0, output: expect.stringContaining('starting') });
  expect(migrations()).toBe('1.0.0\n');
});

test('a changed archive, list, comment or key installs nothing', () => {
  const from = root.release({ version: '1.0.0' });
  const refused = (message: string) => {
    expect(root.install(from, '--yes')).toMatchObject({ code: 1, output: expect.stringContaining(message) });
    const installed = existsSync(root.path('opt/fairlead')) ? readdirSync(root.path('opt/fairlead')) : [];
    expect(installed).toEqual([]);
  };
  const change = (name: string, by: (text: string) => string, message: string) => {
    const file = join(from, name);
    const before = readFileSync(file, 'latin1');
    writeFileSync(file, by(before), 'latin1');
    refused(message);
    writeFileSync(file, before, 'latin1');
  };
  change('fairlead-1.0.0-linux-x64.tar.gz', (text) => `${text}x`, 'does not have the digest');
  change('SHA256SUMS', (text) => text.replace(/^./, 'x'), 'the signature of SHA256SUMS is wrong');
  change('SHA256SUMS.minisig', (text) => text.replace('1.0.0', '9.0.0'), 'the signature of SHA256SUMS is wrong');
  change('SHA256SUMS.minisig', () => '', 'the signature of SHA256SUMS is wrong');
  const other = new TestRoot();
  change('install.sh', (text) => text.replace(root.publicKey, other.publicKey), 'the signature of SHA256SUMS is wrong');
  other.remove();
  root.sign(join(from, 'SHA256SUMS'), 'another file');
  refused('the signature names no version');
});

test('an update backs up, switches and keeps the former version', () => {
  expect(root.install(root.release({ version: '1.9.0' }), '--yes').code).toBe(0);
  const from = root.release({ version: '1.10.0' });
  expect(root.install(from, '--yes')).toMatchObject({ code: 1, output: expect.stringContaining('fairlead update') });
  const updated = root.run(['fairlead', 'update', '--from', from]);
  expect(updated).toMatchObject({ code: 0, output: expect.stringContaining('updated from 1.9.0 to 1.10.0') });
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.10.0');
  expect(migrations()).toBe('1.9.0\n1.10.0\n');
  expect(root.read('var/backups/fairlead/before-1.10.0/postgres/migrations')).toBe('1.9.0\n');
  expect(readdirSync(root.path('opt/fairlead')).sort()).toEqual(['1.10.0', '1.9.0', 'current']);
  const older = root.run(['fairlead', 'update', '--from', root.path('dist-1.9.0')]);
  expect(older).toMatchObject({ code: 1, output: expect.stringContaining('never goes back') });
});

test('a failed update goes back to the former version and its database', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  const from = root.release({ version: '2.0.0', health: 1 });
  const failed = root.run(['fairlead', 'update', '--from', from]);
  expect(failed.output).toContain('the update to 2.0.0 failed. 1.0.0 runs again');
  expect(failed.code).toBe(1);
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.0.0');
  // The former version started again on the database from before the update.
  expect(migrations()).toBe('1.0.0\n1.0.0\n');
  expect(root.read('programs')).toMatch(
    /1\.0\.0 new-epoch --data \/var\/lib\/fairlead-control-plane --made-at 20\S+Z\n/,
  );
  expect(readdirSync(root.path(DATA)).sort()).toEqual(['agent', 'postgres', 'secrets']);
  expect(existsSync(root.path('active'))).toBe(true);
});

test('an update that can not back up changes nothing and starts the former version again', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  writeFileSync(root.path(DATA, 'postgres/postmaster.pid'), '1');
  const failed = root.run(['fairlead', 'update', '--from', root.release({ version: '2.0.0' })]);
  expect(failed).toMatchObject({ code: 1, output: expect.stringContaining('the backup failed') });
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.0.0');
  expect(existsSync(root.path('active'))).toBe(true);
});

test('uninstalling keeps data, and deletes it only after the typed words', () => {
  const from = root.release({ version: '1.0.0' });
  expect(root.install(from, '--yes').code).toBe(0);
  const refused = root.run(['fairlead', 'uninstall', '--delete-data', '--yes'], 'yes\n');
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('nothing was deleted or removed') });
  expect(root.run(['fairlead', 'uninstall'])).toMatchObject({ code: 0 });
  for (const gone of ['opt/fairlead', 'usr/local/bin/fairlead', 'etc/systemd/system/fairlead.service'])
    expect(existsSync(root.path(gone))).toBe(false);
  expect(root.read(DATA, 'secrets/master-key')).toBe('key\n');
  expect(root.install(from, '--yes').code).toBe(0);
  expect(root.run(['fairlead', 'uninstall', '--delete-data'], 'delete all data\n').code).toBe(0);
  for (const gone of [DATA, 'etc/fairlead', 'var/backups/fairlead']) expect(existsSync(root.path(gone))).toBe(false);
});

test('the URL of an own PostgreSQL goes into the settings only', () => {
  const from = root.release({ version: '1.0.0' });
  const file = root.path('database-url');
  writeFileSync(file, 'postgresql://me:secret"@host/db\n');
  expect(root.install(from, '--yes', '--database-url-file', file).code).toBe(1);
  writeFileSync(file, 'postgresql://me:secret@host/db\n');
  const { code, output } = root.install(from, '--yes', '--database-url-file', file);
  expect(code).toBe(0);
  expect(output).not.toContain('me:secret');
  expect(root.read('calls')).not.toContain('me:secret');
  expect(root.read('etc/fairlead/fairlead.toml')).toContain('[database]\nurl = "postgresql://me:secret@host/db"\n');
});

test('systems that are too old, without systemd or without root are refused', () => {
  const from = root.release({ version: '1.0.0' });
  writeFileSync(root.path('etc/os-release'), 'ID=debian\nVERSION_ID="10"\n');
  expect(root.install(from, '--yes').output).toContain('debian 10 is too old');
  writeFileSync(root.path('etc/os-release'), 'ID=alpine\nVERSION_ID=3\n');
  expect(root.install(from, '--yes').output).toContain('Debian and Ubuntu only');
  root.program('id', '#!/bin/sh\necho 1000\n');
  expect(root.install(from, '--yes').output).toContain('this needs root');
});
