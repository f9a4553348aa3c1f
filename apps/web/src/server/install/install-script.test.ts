import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { InstallScriptError, installScript } from './install-script.ts';

const run = promisify(execFile);
const parts = {
  downloadBaseUrl: 'https://fairlead.example.com',
  controlUrl: 'https://fairlead.example.com:8443',
  digests: [{ target: 'linux-x64', sha256: 'a'.repeat(64) }],
} as const;

async function withScript<T>(work: (path: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-install-'));
  try {
    const path = join(dir, 'agent.sh');
    await writeFile(path, installScript(parts));
    return await work(path);
  } finally {
    await rm(dir, { recursive: true });
  }
}

test('addresses and digests are baked in, the token is not', () => {
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

test('a digest that is none is refused', () => {
  expect(() => installScript({ ...parts, digests: [{ target: 'linux-x64', sha256: "';id;'" }] })).toThrow(
    InstallScriptError,
  );
});

/** The lines of a unit that the script writes. */
function unitOf(name: string): string[] {
  const [, rest = ''] = installScript(parts).split(`cat >/etc/systemd/system/${name} <<UNIT\n`);
  const [text = ''] = rest.split('\nUNIT\n');
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('the unit of apps bounds its own process alone, and neither unit ends what outlives it', () => {
  const apps = unitOf('fairlead-apps.service');
  // Each of these holds for a whole control group, and all apps are in this one.
  const ofTheGroup = /^(Memory(?!Deny)|CPU|IO|Allowed|Device|IPAddress|PrivateDevices|ProtectClock|User|DynamicUser)/;
  expect(apps.filter((line) => ofTheGroup.test(line))).toEqual([]);
  expect(apps).toEqual(expect.arrayContaining(['Delegate=yes', 'KillMode=process', 'TasksMax=infinity']));
  const agent = unitOf('fairlead-agent.service');
  expect(agent).toContain('KillMode=process');
  expect(agent.filter((line) => /^(Wants|After)=/.test(line) && line.includes('fairlead-apps.service'))).toHaveLength(
    2,
  );
  // A folder that each start makes anew would part what lives on from what starts.
  expect(agent.filter((line) => /^(PrivateTmp|RuntimeDirectory|BindsTo|Requires)=/.test(line))).toEqual([]);
});

test('a shell can parse it, and without a token it does nothing but say so', async () => {
  await withScript(async (path) => {
    await run('sh', ['-n', path]);
    const failed = await run('sh', [path], { env: { ...process.env, FAIRLEAD_ENROL_TOKEN: '' } }).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('FAIRLEAD_ENROL_TOKEN is not set') });
  });
});
