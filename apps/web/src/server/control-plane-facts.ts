// Facts of this process's settings for the control plane page. Invariant: no secret is among them.
import { join } from 'node:path';
import type { ApiConfig } from '@fairlead/api';
import { openReleaseFiles } from '@fairlead/outbound/release-files';
import { freeBytesMin, releaseKeys } from '@fairlead/settings';
import { downloadUrl } from './agent-download.ts';
import { agentBaseUrl, type WebEnv } from './env.ts';
import { publicUrl } from './env-of-process.ts';

export function controlPlaneFacts(env: WebEnv, hasMail: boolean): ApiConfig['controlPlane'] {
  const logStore = env.FAIRLEAD_LOG_STORE_DIR;
  return {
    addresses: {
      get publicUrl() {
        return publicUrl();
      },
      get agentUrl() {
        return agentBaseUrl(env, downloadUrl(env));
      },
      webListen: listenAddress(env.FAIRLEAD_WEB_HOST, env.FAIRLEAD_WEB_PORT),
      gatewayListen: listenAddress(env.FAIRLEAD_GATEWAY_HOST, env.FAIRLEAD_GATEWAY_PORT),
      trustedProxies: env.FAIRLEAD_TRUSTED_PROXIES,
    },
    mail: hasMail ? { from: env.FAIRLEAD_MAIL_FROM ?? '' } : null,
    freeBytesMin: freeBytesMin(env),
    version: env.FAIRLEAD_VERSION,
    backups: {
      folder: env.FAIRLEAD_BACKUP_FOLDER ?? null,
      schedule: env.FAIRLEAD_BACKUP_SCHEDULE ?? null,
      keep: env.FAIRLEAD_BACKUP_KEEP,
    },
    updates: updateFacts(env),
    folders: [env.FAIRLEAD_DATA_DIR ?? logStore, env.FAIRLEAD_ARTIFACT_STORE_DIR ?? join(logStore, 'artifacts')],
  };
}

/** A clone has no key to verify a release, so it has no feed either. */
function updateFacts(env: WebEnv): ApiConfig['controlPlane']['updates'] {
  const publicKeys = releaseKeys(env);
  const feed = publicKeys.length === 0 ? null : (env.FAIRLEAD_UPDATES_FEED ?? null);
  return {
    // The version without its commit.
    current: env.FAIRLEAD_VERSION.split(' ')[0] ?? '',
    feed,
    readFeedFile: feed === null ? null : openReleaseFiles(feed),
    publicKeys,
    updaterFolder: env.FAIRLEAD_UPDATER_DIR ?? null,
  };
}

function listenAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
