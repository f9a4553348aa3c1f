import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSshKey } from './ssh-key.ts';

test('ssh itself reads the private half, and finds the public one in it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-ssh-'));
  try {
    const { publicKey, privateKey } = createSshKey('fairlead-shop');
    writeFileSync(join(dir, 'key'), privateKey, { mode: 0o600 });
    expect(execFileSync('ssh-keygen', ['-y', '-f', join(dir, 'key')], { encoding: 'utf8' }).trim()).toBe(publicKey);
    expect(createSshKey('fairlead-shop').publicKey).not.toBe(publicKey);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
