// Agent downloads for the API: the install script's URL and digest for new servers, and agent programs for upgrades.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { AgentDownload, AgentOffers } from '@fairlead/api';
import { agentBaseUrl, type WebEnv } from './env.ts';
import type { AgentBinaries } from './install/agent-binaries.ts';
import { installScript } from './install/install-script.ts';
import { type PublicAuthority, readPublicAuthority } from './install/public-authority.ts';

export async function renderInstallScript(env: WebEnv, binaries: AgentBinaries): Promise<string> {
  return render(env, binaries, await readPublicAuthority(env.FAIRLEAD_PUBLIC_CA_FILE));
}

export async function agentDownload(env: WebEnv, binaries: AgentBinaries): Promise<AgentDownload> {
  const authority = await readPublicAuthority(env.FAIRLEAD_PUBLIC_CA_FILE);
  const script = await render(env, binaries, authority);
  return {
    url: `${new URL(env.FAIRLEAD_PUBLIC_URL).origin}/install/agent.sh`,
    sha256: createHash('sha256').update(script).digest('hex'),
    caFingerprint: authority?.fingerprint ?? null,
  };
}

async function render(env: WebEnv, binaries: AgentBinaries, authority: PublicAuthority | null): Promise<string> {
  return installScript({
    downloadBaseUrl: new URL(env.FAIRLEAD_PUBLIC_URL).origin,
    controlUrl: new URL(agentBaseUrl(env)).origin,
    digests: await binaries.list(),
    authority: authority?.pem ?? null,
  });
}

/** A file that was replaced since the listing is detected by its reader, which verifies the digest. */
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
