// Part of settings.test.ts: a product on this machine only, with a PostgreSQL of its own and scheduled backups.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SignedRelease, signedRelease } from '@fairlead/core/testing';
import { createDatabase } from '@fairlead/db';
import { type EmbeddedServer, startEmbedded } from '@fairlead/db/embedded';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newRecoveryKey, type RecoveryKey, unpack } from '../../../tools/backup/archive.ts';
import { ADA, claimSetup, type Dashboard, signIn } from '../../../tools/lib/dashboard-client.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { type RunningProduct, startProduct } from '../../../tools/lib/running-product.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import type { MailSink } from '../../ui/mail-sink.ts';
import { AGENT_BINARY } from './assemble.ts';
import { commandLines, effect, environmentOf, mailWith, ORGANIZATION, waitReasonOfSecondBuild } from './settings.ts';

/** Two backups of the folder, older first. */
const OLD_BACKUPS = ['2026-01-01T03-30-00-000Z', '2026-01-02T03-30-00-000Z'].flatMap((time) => [
  `fairlead-${time}.data.age`,
  `fairlead-${time}.keys.age`,
]);

interface MadeBackup {
  readonly state: string;
  readonly dataFile: string;
  readonly keysFile: string;
  readonly sizeBytes: number;
}

/** Returns the latest backup when it is finished, and the next time. */
async function findBackup(dashboard: Dashboard): Promise<{ last: MadeBackup; next: string } | undefined> {
  type Backups = { latest: (MadeBackup & { finishedAt: string | null })[]; next: string };
  const { backups } = await dashboard.query<{ backups: Backups }>('controlPlane.get', ORGANIZATION);
  const [last] = backups.latest;
  return last === undefined || last.finishedAt === null
    ? undefined
    : { last, next: new Date(backups.next).toISOString() };
}

export interface Fixtures {
  readonly folder: string;
  readonly mail: MailSink;
}

const release = { version: '99.0.0', ...signedRelease({ version: '99.0.0' }) };

/** Writes a feed of releases, and returns its folder. */
function writeFeed(feed: string, { files }: SignedRelease): string {
  mkdirSync(feed);
  for (const [name, text] of files) writeFileSync(join(feed, name), text);
  return feed;
}

/** Declares the tests; `fixtures` is called after the tests' own `beforeAll`. */
export function describeOwnDatabase(fixtures: () => Fixtures): void {
  describe('on this machine, with a PostgreSQL of its own', () => {
    let folder: string;
    const macKey = randomBytes(32).toString('base64url');
    let backups: string;
    let mail: MailSink;
    let recoveryKey: RecoveryKey;
    let product: RunningProduct;
    let postgres: EmbeddedServer;

    beforeAll(async () => {
      ({ folder, mail } = fixtures());
      backups = join(folder, 'backups');
      mkdirSync(backups);
      for (const file of OLD_BACKUPS) writeFileSync(join(backups, file), '');
      recoveryKey = await newRecoveryKey();
      const own = join(folder, 'own');
      postgres = await startEmbedded({ dataDir: join(own, 'postgres'), port: await freePort(), log: () => undefined });
      const smtpUrlFile = join(folder, 'smtp-url');
      writeFileSync(smtpUrlFile, `${mail.url}\n`, { mode: 0o600 });
      product = await startProduct({
        agent: AGENT_BINARY,
        data: join(folder, 'second'),
        env: {
          DATABASE_URL: postgres.url,
          FAIRLEAD_SMTP_URL_FILE: smtpUrlFile,
          FAIRLEAD_MAIL_FROM: 'Second <second@example.test>',
          FAIRLEAD_ACME_EAB_KEY_ID: 'a-key-id',
          FAIRLEAD_ACME_EAB_HMAC_KEY: macKey,
          FAIRLEAD_BUILDS_PER_SERVER: '3',
          FAIRLEAD_BUILDS_PER_ORGANIZATION: '1',
          FAIRLEAD_BACKUP_FOLDER: backups,
          FAIRLEAD_BACKUP_SCHEDULE: '03:30',
          FAIRLEAD_BACKUP_KEEP: '2',
          FAIRLEAD_BACKUP_RECIPIENT: recoveryKey.recipient,
          FAIRLEAD_UPDATES_FEED: writeFeed(join(folder, 'feed'), release),
          FAIRLEAD_RELEASE_KEYS: release.publicKey,
        },
      });
      if (product.setupToken === undefined) throw new Error('the summary names no token');
      await claimSetup(product.url, product.setupToken, ADA);
    }, 600_000);
    afterAll(async () => {
      await product?.stop();
      await postgres?.stop();
    });

    test('the summary warns that only this machine reaches the dashboard', () => {
      expect(product.summary).toMatch(/Warning +Only this machine reaches these addresses/);
      expect(product.summary).toContain('--public-url');
    });

    effect(['FAIRLEAD_UPDATES_FEED'], 'the newest release of the feed is on the control plane page', async () => {
      const dashboard = await signIn(product.url, ADA);
      const find = async () => {
        type Page = { updates: { available: { version: string } | null; method: string } };
        const { updates } = await dashboard.query<Page>('controlPlane.get', ORGANIZATION);
        return updates.available === null ? undefined : updates;
      };
      const updates = await waitFor(find, { what: 'the release of the feed', timeoutMs: 30_000, everyMs: 250 });
      // It was started without the installer, so there is no button.
      expect(updates).toMatchObject({ available: { version: release.version }, method: 'command' });
    });

    effect(['DATABASE_URL'], 'the tables are in that PostgreSQL, and none is embedded', async () => {
      expect(existsSync(join(product.data, 'postgres/cluster'))).toBe(false);
      const database = createDatabase({ url: postgres.url, poolMax: 1, applicationName: 'test' });
      const organizations = await database.system('count organizations', (tx) => tx.organization.count());
      await database.close();
      expect(organizations).toBe(1);
    });

    effect(['FAIRLEAD_SMTP_URL_FILE'], 'mails leave by the server that the file names', async () => {
      const dashboard = await signIn(product.url, ADA);
      await dashboard.call('invitation.create', { role: 'admin', email: 'mallory@example.test' }, ORGANIZATION);
      expect(await mailWith(mail.folder, 'mallory@example.test')).toContain('From: Second <second@example.test>');
    });

    effect(['FAIRLEAD_ACME_EAB_HMAC_KEY'], 'only the worker gets the key', async () => {
      const { web, worker, gateway } = product.processes();
      const line = `FAIRLEAD_ACME_EAB_HMAC_KEY=${macKey}`;
      expect([web, worker, gateway].map((pid) => environmentOf(pid).includes(line))).toEqual([false, true, false]);
      expect(commandLines()).not.toContain(macKey);
    });

    effect(['FAIRLEAD_BUILDS_PER_ORGANIZATION'], 'an organization has one build slot', async () => {
      const dashboard = await signIn(product.url, ADA);
      expect(await waitReasonOfSecondBuild(dashboard)).toBe('queued: 1 build ahead: first #1.');
    });

    effect(
      ['FAIRLEAD_BACKUP_FOLDER', 'FAIRLEAD_BACKUP_SCHEDULE', 'FAIRLEAD_BACKUP_KEEP', 'FAIRLEAD_BACKUP_RECIPIENT'],
      'the backup that is due is made at the start, and only its recovery key opens it',
      async () => {
        const dashboard = await signIn(product.url, ADA);
        const made = await waitFor(() => findBackup(dashboard), { what: 'a backup', timeoutMs: 60_000, everyMs: 500 });
        expect(made.last).toMatchObject({ state: 'succeeded', isScheduled: true, failure: null });
        expect(made.next).toMatch(/T03:30:00.000Z$/);
        const { dataFile, keysFile, sizeBytes } = made.last;
        expect(statSync(dataFile).size + statSync(keysFile).size).toBe(sizeBytes);
        const files = readdirSync(backups).map((file) => join(backups, file));
        expect(files.sort()).toEqual(
          [...OLD_BACKUPS.slice(2).map((file) => join(backups, file)), dataFile, keysFile].sort(),
        );
        const opened = mkdtempSync(join(folder, 'opened-'));
        await unpack(keysFile, opened, ['secrets', 'agent/control-ca'], recoveryKey.identity);
        expect(readFileSync(join(opened, 'secrets/master-key'))).toEqual(
          readFileSync(join(product.data, 'secrets/master-key')),
        );
        await unpack(dataFile, opened, ['backup', 'log-store'], recoveryKey.identity);
        expect(existsSync(join(opened, 'backup/database/public.organization'))).toBe(true);
      },
    );
  });
}
