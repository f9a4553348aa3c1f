// What the API tells of agents: to a new server the install script, by its address and the digest of its exact bytes; to
// those that are there the programs they may run instead.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { AgentDownload, AgentOffers } from '@fairlead/api';
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

/** A file that was replaced since it was listed is found out by whoever hashes what it reads. */
export function agentOffers(binaries: AgentBinaries): AgentOffers {
  return {
    list: async () =>
      (await binaries.list()).map(({ target, version, sha256, sizeBytes }) => ({
        target,
        version: version === '' ? 'unknown' : version,
        digest: `sha256:${sha256}`,
        sizeBytes,
      })),
    read: async function* ({ target }) {
      const binary = await binaries.find(target);
      if (binary !== null) yield* createReadStream(binary.path) as AsyncIterable<Buffer>;
    },
  };
}
