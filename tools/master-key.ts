// `npm run master-key -- rotate` puts a new master key in front of the file and wraps every data key with it, while the
// control plane runs. `-- prune` then takes keys that wrap nothing out of the file: backups of the database from before
// open only with them. Must never print a key.
import { parseArgs } from 'node:util';
import { systemClock } from '../packages/core/src/kernel/index.ts';
import {
  addMasterKey,
  createSecretKeys,
  listMasterKeysInUse,
  openMasterKeyFile,
  pruneMasterKeys,
  rotateValues,
} from '../packages/core/src/secret/index.ts';
import { createDatabase } from '../packages/db/src/index.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const { DATABASE_URL, FAIRLEAD_MASTER_KEY_FILE: path } = process.env;
const [task] = positionals;
if (DATABASE_URL === undefined || path === undefined || (task !== 'rotate' && task !== 'prune')) {
  console.error('usage: DATABASE_URL=… FAIRLEAD_MASTER_KEY_FILE=… npm run master-key -- rotate|prune');
  process.exit(2);
}
const database = createDatabase({ url: DATABASE_URL, poolMax: 2, applicationName: 'fairlead-master-key' });
const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };
try {
  const keys = createSecretKeys(await openMasterKeyFile(path));
  if (task === 'rotate') {
    console.log(`the new master key is ${await addMasterKey(path)}: back the file up now`);
    let wrapped = 0;
    for (;;) {
      const { rewrapped, reencrypted } = await database.system('master key', (tx) =>
        rotateValues({ tx, clock: systemClock, log }, keys),
      );
      wrapped += rewrapped;
      if (rewrapped + reencrypted === 0) break;
    }
    console.log(`${wrapped} data keys are wrapped with it`);
  } else {
    const inUse = await database.system('master key', (tx) => listMasterKeysInUse({ tx, clock: systemClock, log }));
    const gone = await pruneMasterKeys(path, inUse);
    console.log(gone.length === 0 ? 'every key of the file is in use' : `taken out: ${gone.join(', ')}`);
  }
} finally {
  await database.close();
}
