// Starts the product in a scratch folder, and passes its addresses to the tests in environment variables.
import { appendFileSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newRecoveryKey } from '../../tools/backup/archive.ts';
import { startProduct } from '../../tools/lib/running-product.ts';
import { startMailSink } from './mail-sink.ts';

export default async function globalSetup(): Promise<() => Promise<void>> {
  const agent = process.env.FAIRLEAD_E2E_AGENT;
  const mail = await startMailSink();
  const offered = agent === undefined ? undefined : offerAnotherAgent(agent);
  const backups = mkdtempSync(join(tmpdir(), 'fairlead-backups-'));
  const env = {
    FAIRLEAD_SMTP_URL: mail.url,
    FAIRLEAD_MAIL_FROM: 'Fairlead <fairlead@example.test>',
    FAIRLEAD_BACKUP_FOLDER: backups,
    FAIRLEAD_BACKUP_RECIPIENT: (await newRecoveryKey()).recipient,
    ...(offered === undefined
      ? {}
      : { FAIRLEAD_AGENT_BINARY: join(offered, 'agent'), FAIRLEAD_AGENT_PROOF_SECONDS: '3' }),
  };
  const product = await startProduct(agent === undefined ? { env } : { agent, env });
  process.env.FAIRLEAD_E2E_URL = product.url;
  process.env.FAIRLEAD_E2E_TOKEN = product.setupToken ?? '';
  process.env.FAIRLEAD_E2E_HTTPS_PORT = String(product.ports.https);
  process.env.FAIRLEAD_E2E_CA = product.caFile;
  process.env.FAIRLEAD_E2E_DATA = product.data;
  process.env.FAIRLEAD_E2E_MAILS = mail.folder;
  process.env.FAIRLEAD_E2E_BACKUPS = backups;
  return async () => {
    await product.stop();
    await mail.close();
    rmSync(backups, { recursive: true });
    if (offered !== undefined) rmSync(offered, { recursive: true });
  };
}

/** Creates a folder with a copy of the agent that has another digest, for upgrade.spec.ts. */
function offerAnotherAgent(agent: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-offered-'));
  copyFileSync(agent, join(folder, 'agent'));
  appendFileSync(join(folder, 'agent'), '\n');
  return folder;
}
