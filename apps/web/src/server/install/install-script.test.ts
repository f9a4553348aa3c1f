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

test('a shell can parse it, and without a token it does nothing but say so', async () => {
  await withScript(async (path) => {
    await run('sh', ['-n', path]);
    const failed = await run('sh', [path], { env: { ...process.env, FAIRLEAD_ENROL_TOKEN: '' } }).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('FAIRLEAD_ENROL_TOKEN is not set') });
  });
});
