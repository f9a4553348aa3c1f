import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withOwnFolder } from './own-folder.ts';

// Only root can give files to another user.
test.runIf(process.getuid?.() === 0)(
  'a folder is of root during the work, and of its owner after a failure too',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-own-folder-'));
    try {
      chownSync(folder, 65_534, 65_534);
      const owner = () => statSync(folder).uid;
      expect(await withOwnFolder(folder, async () => owner())).toBe(0);
      const failing = withOwnFolder(folder, async () => {
        throw new Error('the disk is full');
      });
      await expect(failing).rejects.toThrow('the disk is full');
      expect(owner()).toBe(65_534);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
