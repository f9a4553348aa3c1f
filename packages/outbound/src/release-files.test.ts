import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openReleaseFiles } from './release-files.ts';

test('a folder is read up to the bound, and a missing file is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-release-files-'));
  writeFileSync(join(folder, 'SHA256SUMS'), '12345');
  const read = openReleaseFiles(`${folder}/`);
  expect(Buffer.from(await read('SHA256SUMS', 5)).toString()).toBe('12345');
  await expect(read('SHA256SUMS', 4)).rejects.toThrow('is longer than 4 bytes');
  await expect(read('missing', 5)).rejects.toThrow('missing could not be read (ENOENT).');
  rmSync(folder, { recursive: true });
});

test('an address is read up to the bound, over https only', async () => {
  const answer = (body: string, init: ResponseInit, url = 'https://releases.example.com/v/SHA256SUMS') => {
    const response = new Response(body, init);
    Object.defineProperty(response, 'url', { value: url });
    return response;
  };
  const fetched = vi.spyOn(globalThis, 'fetch');
  const read = openReleaseFiles('https://releases.example.com/v/');
  fetched.mockResolvedValueOnce(answer('12345', {}));
  expect(Buffer.from(await read('SHA256SUMS', 5)).toString()).toBe('12345');
  expect(fetched.mock.calls[0]?.[0]).toBe('https://releases.example.com/v/SHA256SUMS');
  fetched.mockResolvedValueOnce(answer('12345', {}));
  await expect(read('SHA256SUMS', 4)).rejects.toThrow('is longer than 4 bytes');
  fetched.mockResolvedValueOnce(answer('', { status: 404 }));
  await expect(read('SHA256SUMS', 5)).rejects.toThrow('answers 404');
  fetched.mockResolvedValueOnce(answer('12345', {}, 'http://elsewhere.example.com/SHA256SUMS'));
  await expect(read('SHA256SUMS', 5)).rejects.toThrow('without https');
  fetched.mockRejectedValueOnce(
    new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) }),
  );
  await expect(read('SHA256SUMS', 5)).rejects.toThrow('did not answer (ECONNREFUSED).');
  fetched.mockRestore();
});
