// Facts of this process's settings for the control plane page. Invariant: no secret is among them.
import { join } from 'node:path';
import type { ApiConfig } from '@fairlead/api';
import { freeBytesMin } from '@fairlead/settings';
import { agentBaseUrl, type WebEnv } from './env.ts';

export function controlPlaneFacts(env: WebEnv, hasMail: boolean): ApiConfig['controlPlane'] {
  const logStore = env.FAIRLEAD_LOG_STORE_DIR;
  return {
    addresses: {
      publicUrl: env.FAIRLEAD_PUBLIC_URL,
      agentUrl: agentBaseUrl(env),
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
    folders: [env.FAIRLEAD_DATA_DIR ?? logStore, env.FAIRLEAD_ARTIFACT_STORE_DIR ?? join(logStore, 'artifacts')],
  };
}

function listenAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
