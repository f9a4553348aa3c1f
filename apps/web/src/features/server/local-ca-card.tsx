'use client';
// Root of the server's local certificate authority: download, fingerprint, and the steps to trust it on each platform.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import type { ServerDetail } from '../../api/types.ts';
import { Fingerprint, PlatformSteps, RootDownloads } from '../../common/local-ca/root-download.tsx';

export function LocalCaCard({ server }: { readonly server: ServerDetail }) {
  const { localCa, name } = server;
  if (localCa === null) return null;
  return (
    <Card id="local-ca" className="scroll-mt-4">
      <CardHeader
        title="Local CA"
        detail="Issues certificates for *.localhost on this server"
        action={<RootDownloads serverName={name} localCa={localCa} />}
      />
      <div className="flex flex-col gap-4 border-line border-t p-4">
        <p className="text-pretty text-ink-soft">
          Browsers warn about local names until they trust this root. Each server has its own root, and the key never
          leaves it. Compare the fingerprint after the download.
        </p>
        <Facts
          items={[
            { term: 'SHA-256 fingerprint', value: <Fingerprint localCa={localCa} /> },
            { term: 'Expires', value: <RelativeTime at={localCa.notAfter} /> },
          ]}
        />
        <PlatformSteps serverName={name} />
      </div>
    </Card>
  );
}
