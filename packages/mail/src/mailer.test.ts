import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMailer, MailError, openMailer } from './mailer.ts';

const received: string[] = [];
const sink = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, _session, done) => {
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => {
      received.push(Buffer.concat(parts).toString('utf8'));
      done();
    });
  },
});

beforeAll(() => new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise<void>((resolve) => sink.close(resolve)));

function mailer() {
  const address = sink.server.address();
  if (address === null || typeof address === 'string') throw new Error('the sink has no port');
  return createMailer({ url: `smtp://127.0.0.1:${address.port}`, from: 'Fairlead <fairlead@example.test>' });
}

test('a mail arrives as text and as HTML, with its link in both', async () => {
  await mailer().send({
    to: 'ada@example.test',
    subject: 'Join us',
    paragraphs: ['Hello.'],
    action: { label: 'Join', url: 'https://fairlead.example.test/join' },
  });
  const mail = received.at(-1) ?? '';
  expect(mail).toContain('To: ada@example.test');
  expect(mail).toContain('Subject: Join us');
  expect(mail).toContain('text/plain');
  expect(mail).toContain('text/html');
  expect(mail.match(/https:\/\/fairlead\.example\.test\/join/g)?.length).toBeGreaterThanOrEqual(2);
});

test('a user-chosen name stays text and cannot inject a header', async () => {
  await mailer().send({
    to: 'ada@example.test',
    subject: 'From <b>Eve\r\nBcc: all@example.test',
    paragraphs: ['<script>x</script>'],
  });
  const mail = received.at(-1) ?? '';
  expect(mail).not.toMatch(/^Bcc:/im);
  expect(mail).toContain('&lt;script&gt;');
});

test('a server that does not answer is an error', async () => {
  const lost = createMailer({ url: 'smtp://127.0.0.1:1', from: 'fairlead@example.test' });
  await expect(lost.send({ to: 'ada@example.test', subject: 'x', paragraphs: [] })).rejects.toThrow(/ECONNREFUSED/);
});

test('a refusal quotes the reply of the server, and no password in any form', async () => {
  const strict = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ password }, _session, done) => {
      const text = String(password);
      done(new Error(`go away ${text} ${Buffer.from(text).toString('base64')}`));
    },
  });
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve));
  const { port } = strict.server.address() as { port: number };
  const url = `smtp://ada:hunter%2F2@127.0.0.1:${port}`;
  const sent = createMailer({ url, from: 'a@example.test' }).send({
    to: 'b@example.test',
    subject: 'x',
    paragraphs: [],
  });
  const error: unknown = await sent.catch((thrown: unknown) => thrown);
  await new Promise<void>((resolve) => strict.close(resolve));
  expect(error).toBeInstanceOf(MailError);
  expect(String(error)).toContain(`The mail server 127.0.0.1:${port} rejected the mail: 535 go away`);
  expect(inspect(error)).not.toMatch(/hunter|aHVudGVy/);
});

const withPassword = 'smtp://fairlead:hunter2@mail.example.test';

test('without a mail server there is no mailer; incomplete settings are an error that shows no password', async () => {
  expect(await openMailer({})).toBeNull();
  const error: unknown = await openMailer({ FAIRLEAD_SMTP_URL: withPassword }).catch((thrown: unknown) => thrown);
  expect(String(error)).toMatch(/FAIRLEAD_MAIL_FROM/);
  expect(String(error)).not.toContain('hunter2');
});

test('the URL of the mail server may come from a file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-mailer-'));
  const file = join(dir, 'smtp-url');
  const settings = { FAIRLEAD_SMTP_URL_FILE: file, FAIRLEAD_MAIL_FROM: 'Fairlead <fairlead@example.test>' };
  await writeFile(file, `${withPassword}\n`, { mode: 0o600 });
  expect(await openMailer(settings)).not.toBeNull();
  await writeFile(file, '\n');
  await expect(openMailer(settings)).rejects.toThrow(/is empty/);
  await rm(dir, { recursive: true });
});
