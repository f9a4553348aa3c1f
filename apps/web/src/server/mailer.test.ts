import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readEnv } from './env.ts';
import { openMailer } from './mailer.ts';

const needed = {
  DATABASE_URL: 'postgres://localhost/fairlead',
  FAIRLEAD_INTERNAL_TOKEN_FILE: '/token',
  FAIRLEAD_AUTH_SECRET_FILE: '/secret',
  FAIRLEAD_LOG_STORE_DIR: '/logs',
  FAIRLEAD_MASTER_KEY_FILE: '/master-key',
};
const from = 'Fairlead <fairlead@example.test>';

test('without a mail server there is no mailer; incomplete settings are an error that shows no password', async () => {
  expect(await openMailer(readEnv(needed))).toBeNull();
  const half = readEnv({ ...needed, FAIRLEAD_SMTP_URL: 'smtp://fairlead:hunter2@mail.example.test' });
  const error: unknown = await openMailer(half).catch((thrown: unknown) => thrown);
  expect(String(error)).toMatch(/FAIRLEAD_MAIL_FROM/);
  expect(String(error)).not.toContain('hunter2');
  expect(() => readEnv({ ...needed, FAIRLEAD_SMTP_URL: 'https://mail.example.test' })).toThrow(/FAIRLEAD_SMTP_URL/);
});

test('the URL of the mail server may come from a file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-mailer-'));
  const file = join(dir, 'smtp-url');
  await writeFile(file, 'smtp://fairlead:hunter2@mail.example.test\n', { mode: 0o600 });
  const env = readEnv({ ...needed, FAIRLEAD_SMTP_URL_FILE: file, FAIRLEAD_MAIL_FROM: from });
  expect(await openMailer(env)).not.toBeNull();
  await rm(dir, { recursive: true });
});
