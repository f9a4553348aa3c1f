// SMTP server for the browser tests. Stores each mail as a file, because the tests run in another process.
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';

export interface MailSink {
  readonly url: string;
  readonly folder: string;
  close(): Promise<void>;
}

export async function startMailSink(): Promise<MailSink> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-mail-'));
  let count = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _session, done) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        count += 1;
        const file = join(folder, `${String(count).padStart(4, '0')}.eml`);
        // Renames the complete file: a reader must not see half a mail.
        writeFileSync(`${file}.part`, Buffer.concat(parts));
        renameSync(`${file}.part`, file);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the mail sink has no port');
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    folder,
    close: async () => {
      await new Promise<void>((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Returns the newest link to a page in the mails; null if there is none. */
export function findLink(folder: string, page: string): string | null {
  const files = readdirSync(folder).filter((name) => name.endsWith('.eml'));
  for (const name of files.sort().reverse()) {
    const text = readFileSync(join(folder, name), 'utf8').replaceAll('=\r\n', '').replaceAll('=3D', '=');
    const path = new RegExp(`/${page}#token=[\\w-]+`).exec(text)?.[0];
    if (path !== undefined) return path;
  }
  return null;
}
