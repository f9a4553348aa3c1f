// Starts the product in a scratch folder, and passes its addresses to the tests in environment variables.
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { releaseSigner } from '@fairlead/core/testing';
import { startDnsServer } from '@fairlead/testkit/dns-server';
import { newRecoveryKey } from '../../tools/backup/archive.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { startProduct } from '../../tools/lib/running-product.ts';
import { startPebble } from '../system/harness/pebble.ts';
import { startDnsControl } from './dns-control.ts';
import { startMailSink } from './mail-sink.ts';
import { startProductControl } from './product-control.ts';

export default async function globalSetup(): Promise<() => Promise<void>> {
  const agent = process.env.FAIRLEAD_E2E_AGENT;
  const mail = await startMailSink();
  const dns = await startDnsServer();
  // Specs set records while they look at the page.
  const control = await startDnsControl(dns);
  const ports = await freePorts();
  // No test may reach a public certificate authority.
  const authority = mkdtempSync(join(tmpdir(), 'fairlead-authority-'));
  const pebble = await startPebble({
    folder: authority,
    httpPort: ports.http,
    httpsPort: ports.https,
    dnsServer: dns.address,
  });
  const offered = agent === undefined ? undefined : offerAnotherAgent(agent);
  const backups = mkdtempSync(join(tmpdir(), 'fairlead-backups-'));
  const updates = makeUpdates();
  const env = {
    ...updates.env,
    FAIRLEAD_SMTP_URL: mail.url,
    FAIRLEAD_MAIL_FROM: 'Fairlead <fairlead@example.test>',
    FAIRLEAD_DNS_RESOLVERS: dns.address,
    // For the fake GitHub of push.spec.ts.
    FAIRLEAD_OUTBOUND_ALLOW: '127.0.0.1',
    FAIRLEAD_ACME_DIRECTORY_URL: pebble.directoryUrl,
    FAIRLEAD_ACME_CA_FILE: pebble.caFile,
    FAIRLEAD_BACKUP_FOLDER: backups,
    FAIRLEAD_BACKUP_RECIPIENT: (await newRecoveryKey()).recipient,
    ...(offered === undefined
      ? {}
      : { FAIRLEAD_AGENT_BINARY: join(offered, 'agent'), FAIRLEAD_AGENT_PROOF_SECONDS: '3' }),
  };
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-product-'));
  // PostgreSQL and the apps run as users of their own and need to pass through.
  chmodSync(scratch, 0o711);
  const options = { ports, data: join(scratch, 'data'), ...(agent === undefined ? {} : { agent }) };
  let product = await startProduct({ ...options, env });
  const productControl = await startProductControl(async (settings) => {
    await product.stop();
    product = await startProduct({ ...options, env: { ...env, ...settings } });
  });
  process.env.FAIRLEAD_E2E_URL = product.url;
  process.env.FAIRLEAD_E2E_PRODUCT = productControl.url;
  process.env.FAIRLEAD_E2E_TOKEN = product.setupToken ?? '';
  process.env.FAIRLEAD_E2E_HTTPS_PORT = String(product.ports.https);
  process.env.FAIRLEAD_E2E_CA = product.caFile;
  process.env.FAIRLEAD_E2E_DATA = product.data;
  process.env.FAIRLEAD_E2E_MAILS = mail.folder;
  process.env.FAIRLEAD_E2E_BACKUPS = backups;
  process.env.FAIRLEAD_E2E_DNS = control.url;
  process.env.FAIRLEAD_E2E_ACME_ROOT = pebble.rootFile;
  process.env.FAIRLEAD_E2E_UPDATES = updates.folder;
  return async () => {
    await productControl.close();
    await product.stop();
    rmSync(scratch, { recursive: true });
    await pebble.stop();
    await mail.close();
    await control.close();
    await dns.close();
    rmSync(backups, { recursive: true });
    rmSync(authority, { recursive: true });
    rmSync(updates.folder, { recursive: true });
    if (offered !== undefined) rmSync(offered, { recursive: true });
  };
}

/**
 * Makes an empty feed, a newer and an older release for it, and the folder of an updater, whose part
 * settings-updates.spec.ts plays.
 */
function makeUpdates(): { readonly folder: string; readonly env: Readonly<Record<string, string>> } {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-updates-'));
  const sign = releaseSigner();
  const releases = { newer: sign({ version: '99.0.0' }), older: sign({ version: '0.0.1' }) };
  for (const [name, { files }] of Object.entries(releases)) {
    mkdirSync(join(folder, name));
    for (const [file, text] of files) writeFileSync(join(folder, name, file), text);
  }
  mkdirSync(join(folder, 'updater/requests'), { recursive: true });
  return {
    folder,
    env: {
      FAIRLEAD_UPDATES_FEED: join(folder, 'feed'),
      FAIRLEAD_RELEASE_KEYS: releases.newer.publicKey,
      FAIRLEAD_UPDATER_DIR: join(folder, 'updater'),
    },
  };
}

/** Creates a folder with a copy of the agent that has another digest, for upgrade.spec.ts. */
function offerAnotherAgent(agent: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-offered-'));
  copyFileSync(agent, join(folder, 'agent'));
  appendFileSync(join(folder, 'agent'), '\n');
  return folder;
}
