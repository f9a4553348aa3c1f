// Agent downloads for the API: the install script's URL and digest for new servers, and agent programs for upgrades.
// Invariant: the script's URL has a certificate that a new server trusts, or one of the authority that the script pins.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { AgentDownload, AgentOffers } from '@fairlead/api';
import { agentBaseUrl, type WebEnv } from './env.ts';
import { currentDomain } from './env-of-process.ts';
import type { AgentBinaries } from './install/agent-binaries.ts';
import { installScript } from './install/install-script.ts';
import { type PublicAuthority, readPublicAuthority } from './install/public-authority.ts';

interface DownloadPoint {
  readonly url: string;
  readonly authority: PublicAuthority | null;
}

/** Returns a domain of the dashboard with a certificate that every server trusts; null: there is none. */
function trustedDomain(env: WebEnv): string | null {
  // New servers may not know an authority of the operator's own.
  return env.FAIRLEAD_ACME_CA_FILE === undefined ? currentDomain() : null;
}

/** Returns the address at which new servers download the agent. */
export function downloadUrl(env: WebEnv): string {
  return trustedDomain(env) ?? env.FAIRLEAD_PUBLIC_URL;
}

async function downloadPoint(env: WebEnv): Promise<DownloadPoint> {
  const url = downloadUrl(env);
  const isTrusted = trustedDomain(env) !== null;
  return { url, authority: isTrusted ? null : await readPublicAuthority(env.FAIRLEAD_PUBLIC_CA_FILE) };
}

export async function renderInstallScript(env: WebEnv, binaries: AgentBinaries): Promise<string> {
  return render(env, binaries, await downloadPoint(env));
}

export async function agentDownload(env: WebEnv, binaries: AgentBinaries): Promise<AgentDownload> {
  const point = await downloadPoint(env);
  const script = await render(env, binaries, point);
  return {
    url: `${point.url}/install/agent.sh`,
    sha256: createHash('sha256').update(script).digest('hex'),
    caFingerprint: point.authority?.fingerprint ?? null,
  };
}

async function render(env: WebEnv, binaries: AgentBinaries, { url, authority }: DownloadPoint): Promise<string> {
  return installScript({
    downloadBaseUrl: url,
    controlUrl: new URL(agentBaseUrl(env, url)).origin,
    digests: await binaries.list(),
    authority: authority?.pem ?? null,
  });
}

/** A file that was replaced since the listing is detected by its reader, which verifies the digest. */
export function agentOffers(binaries: AgentBinaries): AgentOffers {
  return {
    list: async () =>
      (await binaries.list()).map(({ target, version, sha256, sizeBytes, signature }) => ({
        target,
        version: version === '' ? 'unknown' : version,
        digest: `sha256:${sha256}`,
        sizeBytes,
        signature,
      })),
    read: async function* ({ target }) {
      const binary = await binaries.find(target);
      if (binary !== null) yield* createReadStream(binary.path) as AsyncIterable<Buffer>;
    },
  };
}
