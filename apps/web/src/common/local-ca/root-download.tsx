// Root of a server's local certificate authority: its downloads, and the steps to trust it on each platform.
import { buttonClass } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Download } from 'lucide-react';
import type { ServerDetail } from '../../api/types.ts';
import { PLATFORMS, rootFileName } from './platforms.ts';

export interface RootProps {
  readonly serverName: string;
  readonly localCa: NonNullable<ServerDetail['localCa']>;
}

export function RootDownloads({ serverName, localCa }: RootProps) {
  const der = localCa.pem.replace(/-----[A-Z ]+-----|\s/g, '');
  const file = rootFileName(serverName);
  const files = [
    { name: `${file}.pem`, label: 'PEM', url: `data:application/x-pem-file;base64,${btoa(localCa.pem)}` },
    { name: `${file}.crt`, label: 'DER (.crt)', url: `data:application/x-x509-ca-cert;base64,${der}` },
  ];
  return files.map(({ name, label, url }) => (
    <a key={name} href={url} download={name} className={buttonClass()}>
      <Download size={15} aria-hidden="true" />
      {label}
    </a>
  ));
}

export function Fingerprint({ localCa }: Pick<RootProps, 'localCa'>) {
  return (
    <span className="flex items-start gap-2">
      <span className="break-all font-mono text-sm">{localCa.fingerprint}</span>
      <CopyButton value={localCa.fingerprint} label="Copy fingerprint" />
    </span>
  );
}

export function PlatformSteps({ serverName }: Pick<RootProps, 'serverName'>) {
  return (
    <div>
      {PLATFORMS.map(({ name, steps, command }) => (
        <details key={name} className="border-line border-t py-2 first:border-t-0">
          <summary className="cursor-pointer font-medium">{name}</summary>
          <p className="mt-2 text-pretty text-ink-soft text-sm">{steps}</p>
          {command === undefined ? null : (
            <pre className="wrap-anywhere mt-2 whitespace-pre-wrap rounded-control bg-sunken px-3 py-2 font-mono text-sm">
              {command(rootFileName(serverName))}
            </pre>
          )}
        </details>
      ))}
    </div>
  );
}
