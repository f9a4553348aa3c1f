// What the API tells a new server to fetch: the install script, by its address and the digest of its exact bytes.
import { createHash } from 'node:crypto';
import type { AgentDownload } from '@fairlead/api';
import { agentBaseUrl, type WebEnv } from './env.ts';
import type { AgentBinaries } from './install/agent-binaries.ts';
import { installScript } from './install/install-script.ts';

export async function renderInstallScript(env: WebEnv, binaries: AgentBinaries): Promise<string> {
  return installScript({
    downloadBaseUrl: new URL(env.FAIRLEAD_PUBLIC_URL).origin,
    controlUrl: new URL(agentBaseUrl(env)).origin,
    digests: await binaries.list(),
  });
}

export async function agentDownload(env: WebEnv, binaries: AgentBinaries): Promise<AgentDownload> {
  const script = await renderInstallScript(env, binaries);
  return {
    url: `${new URL(env.FAIRLEAD_PUBLIC_URL).origin}/install/agent.sh`,
    sha256: createHash('sha256').update(script).digest('hex'),
  };
}
