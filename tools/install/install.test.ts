import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SYSTEMCTL, TestRoot } from './testing-root.ts';

const DATA = 'var/lib/fairlead-control-plane';
// Each installation verifies signatures in Perl and unpacks an archive.
vi.setConfig({ testTimeout: 90_000 });
let root: TestRoot;

beforeEach(() => {
  root = new TestRoot();
});
afterEach(() => root.remove());

const calls = () => root.read('calls').trim().split('\n');
const UPDATER = 'var/lib/fairlead-update';
/** State of an update, as the dashboard reads it. */
const state = () =>
  Object.fromEntries(
    root
      .read(UPDATER, 'state')
      .trim()
      .split('\n')
      .map((line) => line.split(' ')),
  );
const request = (text: string) => {
  writeFileSync(root.path(UPDATER, 'requests/request'), text);
  return root.run(['fairlead', 'update-requested']);
};
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

test('an endless download ends before it fills the disk', () => {
  const from = root.release({ version: '1.0.0' });
  root.program('curl', '#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\nexec head -c 100000 /dev/zero >"$2"\n');
  const endless = root.run(['sh', join(from, 'install.sh'), '--yes', '--from', 'https://fairlead.example.com/1.0.0']);
  expect(endless).toMatchObject({
    code: 1,
    output: expect.stringContaining('SHA256SUMS.minisig could not be fetched'),
  });
  expect(existsSync(root.path('opt/fairlead/current'))).toBe(false);
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

test('an update backs up, switches and keeps the previous version', () => {
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

test('a failed update goes back to the previous version and its database', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  const from = root.release({ version: '2.0.0', health: 1 });
  const failed = root.run(['fairlead', 'update', '--from', from]);
  expect(failed.output).toContain('the update to 2.0.0 failed. 1.0.0 runs again');
  expect(failed.code).toBe(1);
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.0.0');
  // The previous version started again on the database from before the update.
  expect(migrations()).toBe('1.0.0\n1.0.0\n');
  expect(root.read('programs')).toMatch(
    /1\.0\.0 new-epoch --data \/var\/lib\/fairlead-control-plane --made-at 20\S+Z\n/,
  );
  expect(readdirSync(root.path(DATA)).sort()).toEqual(['agent', 'fairlead.json', 'postgres', 'secrets']);
  expect(state()).toMatchObject({ from: '1.0.0', to: '2.0.0', state: 'rolled_back', step: 'roll_back' });
  expect(existsSync(root.path('active'))).toBe(true);
});

test('a request of the dashboard installs the newest release of the feed, and nothing else', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  expect(root.run(['fairlead', 'update-requested']).output).toContain('the request names no version');
  const from = root.release({ version: '1.1.0' });
  const refused = (text: string, words: string) => {
    expect(request(text)).toMatchObject({ code: 1, output: expect.stringContaining(words) });
    // A request is tried once.
    expect(existsSync(root.path(UPDATER, 'requests/request'))).toBe(false);
    expect(state()).toMatchObject({ state: 'failed' });
  };
  refused('1.1.0\n', 'updates.feed');
  appendFileSync(
    root.path('etc/fairlead/fairlead.toml'),
    `\n[updates]\nfeed = "${from}"\n\n[mail]\nfeed = "/elsewhere"\n`,
  );
  for (const text of ['', '../1.1.0', '1.1.0 --from /tmp', '$(id)', `-${'1'.repeat(60)}`, '1'.repeat(41), '1.1.0;id'])
    refused(text, 'the request names no version');
  refused('1.2.0\n', 'holds version 1.1.0, not 1.2.0');
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('1.0.0');
  expect(request('1.1.0\n')).toMatchObject({ code: 0, output: expect.stringContaining('updated from 1.0.0 to 1.1.0') });
  expect(state()).toMatchObject({ from: '1.0.0', to: '1.1.0', state: 'succeeded' });
  expect(root.read(UPDATER, 'log')).toContain('stopping 1.0.0; apps keep running');
  refused('1.1.0\n', 'is installed already');
  const link = root.path(UPDATER, 'requests/request');
  symlinkSync(from, link);
  expect(root.run(['fairlead', 'update-requested']).output).toContain('the request names no version');
  expect(readdirSync(root.path(UPDATER, 'requests'))).toEqual([]);
  expect(existsSync(join(from, 'SHA256SUMS'))).toBe(true);
});

test('the backup has what changed while it was made, and nothing that is gone', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  for (const name of ['kept', 'changed', 'gone']) writeFileSync(root.path(DATA, 'postgres', name), 'before');
  mkdirSync(root.path(DATA, 'postgres/gone-folder'));
  // The first copy of a control plane that still writes: it happens between both passes.
  root.program(
    'systemctl',
    `#!/bin/sh
case "$*" in 'stop fairlead.service')
  cd /${DATA}/postgres && rm -r gone gone-folder && echo after >changed && mkdir -m 700 new && echo after >new/file ;;
esac
exec sh "$ROOT/fake/systemctl-kept" "$@"
`,
  );
  root.program('systemctl-kept', SYSTEMCTL);
  const updated = root.run(['fairlead', 'update', '--from', root.release({ version: '2.0.0' })]);
  expect(updated.output).toContain('updated from 1.0.0 to 2.0.0');
  const backup = (...parts: string[]) => root.read('var/backups/fairlead/before-2.0.0/postgres', ...parts);
  expect([backup('kept'), backup('changed'), backup('new/file')]).toEqual(['before', 'after\n', 'after\n']);
  expect(statSync(root.path('var/backups/fairlead/before-2.0.0/postgres/new')).mode & 0o777).toBe(0o700);
  expect(readdirSync(root.path('var/backups/fairlead/before-2.0.0/postgres')).sort()).toEqual([
    'changed',
    'kept',
    'migrations',
    'new',
  ]);
});

test('the tests can change nothing outside of their folders', () => {
  for (const folder of ['/usr', '/tmp', '/home', '/srv'])
    expect(root.run(['sh', '-c', `: >${folder}/fairlead-guard`]), folder).toMatchObject({
      code: 2,
      output: expect.stringContaining('Read-only file system'),
    });
});

test('links and names of the service user lead a backup nowhere', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  const secrets = root.path(DATA, 'secrets');
  for (const folder of ['victim', 'planted']) mkdirSync(root.path('var/lib', folder));
  writeFileSync(root.path('var/lib/victim/file'), 'mine');
  writeFileSync(root.path('var/lib/planted/file'), 'planted');
  // Read as lines, this is a file behind the link. Only relative names: an installer that reads lines deletes some of them.
  mkdirSync(join(secrets, 'b\nsecrets/link'), { recursive: true });
  writeFileSync(join(secrets, 'b\nsecrets/link/file'), '');
  symlinkSync('/var/lib/victim', join(secrets, 'link'));
  root.program(
    'systemctl',
    `#!/bin/sh
case "$*" in 'stop fairlead.service')
  cd /${DATA}/secrets && rm link && ln -s /var/lib/planted link && touch -h -d @0 link ;;
esac
exec sh "$ROOT/fake/systemctl-kept" "$@"
`,
  );
  root.program('systemctl-kept', SYSTEMCTL);
  const updated = root.run(['fairlead', 'update', '--from', root.release({ version: '2.0.0' })]);
  expect(updated.output).toContain('updated from 1.0.0 to 2.0.0');
  expect(root.read('var/lib/victim/file')).toBe('mine');
  const copied = root.path('var/backups/fairlead/before-2.0.0/secrets');
  expect(readdirSync(copied).sort()).toEqual(['b\nsecrets', 'link', 'master-key']);
});

// Only root can give files to another user.
test.runIf(process.getuid?.() === 0)('a folder is copied with the rights of its owner', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  root.program(
    'chown',
    '#!/bin/sh\ncase "$*" in --reference*) exec /bin/chown "$@" ;; esac\necho "chown $*" >>"$ROOT/calls"\n',
  );
  const [secrets, key] = [root.path(DATA, 'secrets'), root.path(DATA, 'secrets/master-key')];
  for (const path of [secrets, key]) chownSync(path, 65_534, 65_534);
  chmodSync(key, 0o600);
  writeFileSync(join(secrets, 'of-root'), 'closed', { mode: 0o600 });
  const refused = root.run(['fairlead', 'update', '--from', root.release({ version: '2.0.0' })]);
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('the backup failed') });
  chownSync(join(secrets, 'of-root'), 65_534, 65_534);
  const failed = root.run(['fairlead', 'update', '--from', root.release({ version: '3.0.0', health: 1 })]);
  expect(failed.output).toContain('1.0.0 runs again with its database');
  expect(root.read(DATA, 'secrets/of-root')).toBe('closed');
  for (const path of [secrets, key, root.path('var/backups/fairlead/before-3.0.0/secrets/master-key')])
    expect(statSync(path).uid, path).toBe(65_534);
  expect(statSync(key).mode & 0o777).toBe(0o600);
});

test('a signal during an update leaves no server between two versions', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  // Signals to the updater and its children at each step after the stop.
  root.program(
    'systemctl',
    `#!/bin/sh
case "$*" in 'stop fairlead.service' | 'restart fairlead.service') kill -TERM 0; kill -INT 0; kill -HUP 0 ;; esac
exec sh "$ROOT/fake/systemctl-kept" "$@"
`,
  );
  root.program('systemctl-kept', SYSTEMCTL);
  const updated = root.run(['setsid', '--wait', 'fairlead', 'update', '--from', root.release({ version: '2.0.0' })]);
  expect(updated).toMatchObject({ code: 0, output: expect.stringContaining('updated from 1.0.0 to 2.0.0') });
  expect(state()).toMatchObject({ state: 'succeeded' });
  const failed = root.run([
    'setsid',
    '--wait',
    'fairlead',
    'update',
    '--from',
    root.release({ version: '3.0.0', health: 1 }),
  ]);
  expect(failed).toMatchObject({ code: 1, output: expect.stringContaining('2.0.0 runs again') });
  // Before the stop, a signal ends it without a change.
  root.program('b2sum', '#!/bin/sh\nkill -TERM "$PPID"\nexec /usr/bin/b2sum "$@"\n');
  const ended = root.run(['setsid', '--wait', 'fairlead', 'update', '--from', root.release({ version: '4.0.0' })]);
  expect(ended.code).not.toBe(0);
  expect(readlinkSync(root.path('opt/fairlead/current'))).toBe('2.0.0');
  expect(readdirSync(root.path('opt/fairlead')).sort()).toEqual(['1.0.0', '2.0.0', 'current']);
});

test('an update that a power cut ended is finished by the next one, or goes back', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  for (const [version, health] of [
    ['2.0.0', 0],
    ['3.0.0', 1],
  ] as const) {
    const before = readlinkSync(root.path('opt/fairlead/current'));
    const from = root.release({ version, health });
    root.program(
      'systemctl',
      `#!/bin/sh\n[ "$*" != 'restart fairlead.service' ] || kill -KILL "$PPID"\nexec sh "$ROOT/fake/systemctl-kept" "$@"\n`,
    );
    root.program('systemctl-kept', SYSTEMCTL);
    expect(root.run(['fairlead', 'update', '--from', from]).code).not.toBe(0);
    expect(readlinkSync(root.path('opt/fairlead/current'))).toBe(version);
    root.program('systemctl', SYSTEMCTL);
    const again = ['fairlead', 'update', '--from', from];
    // The version may have worked since, so its database is not replaced without a word.
    if (health === 1) expect(root.run(again).output).toContain(`To go back to ${before} with its database`);
    const next = root.run(health === 1 ? [...again, '--yes'] : again);
    expect(next.output).toContain(`the last update, to ${version}, was interrupted`);
    expect(readlinkSync(root.path('opt/fairlead/current'))).toBe(health === 0 ? version : before);
    expect(next.output).toContain(health === 0 ? `version ${version} is installed already` : `${before} runs again`);
    expect(existsSync(root.path(UPDATER, 'unfinished'))).toBe(false);
  }
});

test('on a full disk, the way back puts the backup itself in place', () => {
  expect(root.install(root.release({ version: '1.0.0' }), '--yes').code).toBe(0);
  const from = root.release({ version: '2.0.0', health: 1 });
  // Copies out of the folder of backups fail as on a full disk.
  root.program(
    'cp',
    '#!/bin/sh\ncase "$*" in *" -t /var/lib/"*) echo "$*" >>"$ROOT/calls"; echo "No space left on device" >&2; exit 1 ;; esac\nexec /bin/cp "$@"\n',
  );
  const failed = root.run(['fairlead', 'update', '--from', from]);
  expect(failed.output).toContain('1.0.0 runs again');
  expect(calls().filter((call) => call.includes(' -t /var/lib/'))).toHaveLength(2);
  expect(migrations()).toBe('1.0.0\n1.0.0\n');
  expect(root.read(DATA, 'secrets/master-key')).toBe('key\n');
  expect(state()).toMatchObject({ state: 'rolled_back' });
});

test('only a data folder of Fairlead is deleted', () => {
  const from = root.release({ version: '1.0.0' });
  expect(root.install(from, '--yes').code).toBe(0);
  const settings = root.path('etc/fairlead/fairlead.toml');
  const refused = (folder: string, words: string) => {
    writeFileSync(settings, `data_dir = "${folder}"\n`);
    const { code, output } = root.run(['fairlead', 'uninstall', '--delete-data'], 'delete all data\n');
    expect([code, output]).toEqual([1, expect.stringContaining(words)]);
    expect(existsSync(root.path('opt/fairlead/current'))).toBe(true);
  };
  mkdirSync(root.path('var/lib/other'));
  writeFileSync(root.path('var/lib/other/file'), 'mine');
  symlinkSync('/var/lib/fairlead-control-plane', root.path('var/lib/link'));
  for (const folder of ['/', '/home', '/var/lib'])
    refused(folder, folder === '/var/lib' ? 'fairlead.json is missing' : 'a top-level folder');
  refused('/var/lib/other', 'fairlead.json is missing');
  refused('/var/lib/link', 'leads to');
  refused('/var/lib/fairlead-control-plane/../other', 'leads to');
  expect(root.read('var/lib/other/file')).toBe('mine');
});

test('an update that can not back up changes nothing and starts the previous version again', () => {
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
