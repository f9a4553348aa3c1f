import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { InstallScriptError, type InstallScriptParts, installScript } from './install-script.ts';

const run = promisify(execFile);
const parts: InstallScriptParts = {
  downloadBaseUrl: 'https://fairlead.example.com',
  controlUrl: 'https://fairlead.example.com:8443',
  digests: [{ target: 'linux-x64', sha256: 'a'.repeat(64) }],
  authority: null,
};
const AUTHORITY = '-----BEGIN CERTIFICATE-----\nMIIBfake+/=\n-----END CERTIFICATE-----\n';

async function withScript<T>(work: (path: string, dir: string) => Promise<T>, of = parts): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-install-'));
  try {
    const path = join(dir, 'agent.sh');
    await writeFile(path, installScript(of));
    return await work(path, dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}

test('URLs and digests are embedded, the token is not', () => {
  const script = installScript(parts);
  expect(script).toContain("download_url='https://fairlead.example.com'");
  expect(script).toContain("control_url='https://fairlead.example.com:8443'");
  expect(script).toContain(`digest='${'a'.repeat(64)}'`);
  expect(script).not.toMatch(/@[A-Z_0-9]+@/);
});

test.each([
  "https://evil.example'; rm -rf /; '",
  'https://a.example/path',
  'ftp://a.example',
  'https://a.example\n',
  '$(id)',
])('the address %j is refused', (url) => {
  expect(() => installScript({ ...parts, controlUrl: url })).toThrow(InstallScriptError);
  expect(() => installScript({ ...parts, downloadBaseUrl: url })).toThrow(InstallScriptError);
});

test.each(['', "';id;'", `${AUTHORITY}'; id; '`, AUTHORITY.replace('MIIB', "'")])(
  'the authority %j is refused',
  (authority) => {
    expect(() => installScript({ ...parts, authority })).toThrow(InstallScriptError);
  },
);

test('an invalid digest is refused', () => {
  expect(() => installScript({ ...parts, digests: [{ target: 'linux-x64', sha256: "';id;'" }] })).toThrow(
    InstallScriptError,
  );
});

const unitBeginning = (name: string) =>
  name === 'fairlead-agent.service' ? 'cat >"$unit" <<UNIT\n' : `cat >/etc/systemd/system/${name} <<UNIT\n`;

/** Returns the lines of a unit that the script writes. */
function unitOf(name: string): string[] {
  const [, rest = ''] = installScript(parts).split(unitBeginning(name));
  const [text = ''] = rest.split('\nUNIT\n');
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('the apps unit limits its own process alone, and neither unit stops what outlives it', () => {
  const apps = unitOf('fairlead-apps.service');
  // These options apply to a whole control group, and all apps are in this one.
  const ofTheGroup = /^(Memory(?!Deny)|CPU|IO|Allowed|Device|IPAddress|PrivateDevices|ProtectClock|User|DynamicUser)/;
  expect(apps.filter((line) => ofTheGroup.test(line))).toEqual([]);
  expect(apps).toEqual(expect.arrayContaining(['Delegate=yes', 'KillMode=process', 'TasksMax=infinity']));
  const agent = unitOf('fairlead-agent.service');
  expect(agent).toContain('KillMode=process');
  expect(agent.filter((line) => /^(Wants|After)=/.test(line) && line.includes('fairlead-apps.service'))).toHaveLength(
    2,
  );
  // A folder that each start recreates would separate running processes from new ones.
  expect(agent.filter((line) => /^(PrivateTmp|RuntimeDirectory|BindsTo|Requires)=/.test(line))).toEqual([]);
});

test('the script parses in a shell, and without a token it only prints an error', async () => {
  await withScript(async (path) => {
    await run('sh', ['-n', path]);
    const failed = await run('sh', [path], { env: { ...process.env, FAIRLEAD_ENROL_TOKEN: '' } }).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('FAIRLEAD_ENROL_TOKEN is not set') });
  });
});

test('an enrolled server gets the new agent, keeps its identity, and the agent restarts', async () => {
  const agent = '#!/bin/sh\nprintf "%s\\n" "$*" >>"$SAID"\n';
  const sha256 = createHash('sha256').update(agent).digest('hex');
  const digests = (['linux-x64', 'linux-arm64'] as const).map((target) => ({ target, sha256 }));
  const install = async (path: string, dir: string, trust = '') => {
    const [bin, data, said] = [join(dir, 'bin'), join(dir, 'data'), join(dir, 'said')];
    await mkdir(bin);
    // The script runs without root here, and its download is a stub.
    await writeFile(join(bin, 'id'), '#!/bin/sh\necho 1000\n', { mode: 0o755 });
    await writeFile(join(dir, 'agent'), agent);
    const fetches =
      '#!/bin/sh\nprintf "%s " "$@" >"$HOME/curled"\nwhile [ "$1" != --output ]; do shift; done\ncp "$AGENT" "$2"\n';
    await writeFile(join(bin, 'curl'), fetches, { mode: 0o755 });
    const env = {
      ...process.env,
      PATH: `${bin}:${process.env.PATH}`,
      HOME: dir,
      FAIRLEAD_DATA: data,
      FAIRLEAD_ENROL_TOKEN: 'token',
      SAID: said,
      AGENT: join(dir, 'agent'),
    };
    await run('sh', [path], { env });
    const enrolled = `enrol --control ${parts.controlUrl} --data ${data} --token-file -${trust}\n`;
    expect(await readFile(said, 'utf8')).toBe(enrolled);
    await writeFile(join(data, 'agent.toml'), '');
    const { stderr } = await run('sh', [path], { env });
    expect(stderr).toContain('enrolled already');
    expect(await readFile(said, 'utf8')).toBe(enrolled);
  };
  await withScript(install, { ...parts, digests });
  await withScript(
    async (path, dir) => {
      await install(path, dir, ` --ca ${join(dir, 'data/control-ca.pem')}`);
      expect(await readFile(join(dir, 'data/control-ca.pem'), 'utf8')).toBe(AUTHORITY);
      expect(await readFile(join(dir, 'curled'), 'utf8')).toMatch(/ --cacert \S+\/ca\.pem /);
    },
    { ...parts, digests, authority: AUTHORITY },
  );
  expect(installScript(parts)).toContain('systemctl restart fairlead-agent.service\n');
});

test('the settings in an existing unit are kept', async () => {
  const [line = ''] = installScript(parts).match(/^former\(\) .*$/m) ?? [];
  const unit = 'ExecStart=/usr/local/bin/fairlead-agent run --data /srv/data --https [::]:8443 --http 10.0.0.1:80\n';
  await withScript(async (_, dir) => {
    await writeFile(join(dir, 'unit'), unit);
    const asked = `set -eu\n${line}\nunit=$1\nformer data; former https; former http; unit=none; former data\n`;
    const { stdout } = await run('sh', ['-c', asked, 'sh', join(dir, 'unit')]);
    expect(stdout).toBe('/srv/data\n[::]:8443\n10.0.0.1:80\n');
  });
});
