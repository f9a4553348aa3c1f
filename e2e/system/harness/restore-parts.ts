// Backup of a system's control plane, and its replacement by a new one that is restored from the backup.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '@fairlead/db/embedded';
import { type Backup, backUp } from '../../../tools/backup/backup.ts';
import { restore } from '../../../tools/backup/restore.ts';
import { ControlPlane } from '../../../tools/start/control-plane.ts';
import { layOut, openData } from '../../../tools/start/folders.ts';
import { openProduct } from '../../../tools/start/product.ts';
import { AGENT_BINARY, type Parts, silentLog } from './assemble.ts';

export type KeyedBackup = Backup & { readonly recoveryKey: string };

export async function backUpParts({ folders, controlPlane }: Parts, to: string): Promise<KeyedBackup> {
  let recoveryKey = '';
  const backup = await backUp({
    folders,
    databaseUrl: controlPlane.databaseUrl,
    to,
    now: new Date(),
    onNewRecoveryKey: (identity) => {
      recoveryKey = identity;
    },
  });
  return { ...backup, recoveryKey };
}

/** Stops the control plane, deletes its folders, and returns the parts with a new one, which is not started yet. */
export async function restoreParts(parts: Parts, backup: KeyedBackup): Promise<Parts> {
  const { ports, supervisor, product, controlPlane, folders: lost } = parts;
  await product.close();
  await controlPlane.stopServices();
  await controlPlane.stopDatabase();
  for (const folder of [lost.postgres, lost.secrets, lost.logStore]) rmSync(folder, { recursive: true });
  const folders = { ...layOut(join(lost.data, '..', 'restored')), agent: lost.agent };
  openData(folders);
  const database = await startEmbedded({ dataDir: folders.postgres, port: ports.database, log: () => undefined });
  try {
    await restore({ folders, databaseUrl: database.url, ...backup, log: silentLog });
  } finally {
    await database.stop();
  }
  const restored = await ControlPlane.open({
    folders,
    ports,
    supervisor,
    agentBinary: AGENT_BINARY,
    webServer: undefined,
    unsafeButFast: true,
  });
  const { databaseUrl } = restored;
  return {
    ...parts,
    folders,
    controlPlane: restored,
    product: await openProduct({ databaseUrl, organizationName: 'Test', log: silentLog }),
  };
}
