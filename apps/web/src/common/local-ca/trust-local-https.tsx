'use client';
// "Trust local HTTPS" beside a *.localhost URL: the root's download and the steps for each platform. Once the person trusts it, a
// link that opens the URL over HTTPS.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { cn } from '@fairlead/ui/lib/class-names';
import { skipToken, useQuery } from '@tanstack/react-query';
import { ShieldAlert } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { isLocalUrl, localHttpsUrl } from './local-url.ts';
import { Fingerprint, PlatformSteps, RootDownloads } from './root-download.tsx';
import { rememberTrust, useIsRootTrusted } from './trusted-roots.ts';

export interface TrustLocalHttpsProps {
  readonly url: string | null;
  /** Server that serves the URL; null while it is unknown. */
  readonly serverId: ServerDetail['id'] | null;
  readonly className?: string;
}

/** Renders nothing for other URLs, and for readers who may not see the server. */
export function TrustLocalHttps({ url, serverId, className }: TrustLocalHttpsProps) {
  const trpc = useTRPC();
  const server = useQuery(
    trpc.server.get.queryOptions(isLocalUrl(url) && serverId !== null ? { serverId } : skipToken),
  ).data;
  if (!isLocalUrl(url) || server === undefined || server.localCa === null) return null;
  return <TrustButton url={url} server={server} localCa={server.localCa} className={className} />;
}

interface TrustButtonProps {
  readonly url: string;
  readonly server: ServerDetail;
  readonly localCa: NonNullable<ServerDetail['localCa']>;
  readonly className: string | undefined;
}

function TrustButton({ url, server, localCa, className }: TrustButtonProps) {
  const [open, setOpen] = useState(false);
  if (useIsRootTrusted(localCa.fingerprint)) {
    return (
      <a
        href={localHttpsUrl(url, localCa.httpsPort)}
        target="_blank"
        rel="noreferrer"
        className={cn(buttonClass('ghost', 'small'), className)}
      >
        Open over HTTPS
        <span className="sr-only"> (opens in a new tab)</span>
      </a>
    );
  }
  const close = () => setOpen(false);
  return (
    <>
      <Button
        variant="ghost"
        size="small"
        icon={<ShieldAlert size={14} aria-hidden="true" />}
        className={cn('text-warn-text', className)}
        onClick={() => setOpen(true)}
      >
        Trust local HTTPS
      </Button>
      <Dialog
        open={open}
        onClose={close}
        title="Trust local HTTPS"
        detail={`Over HTTPS, browsers warn about *.localhost addresses until they trust the root of ${server.name}.`}
        wide
        footer={
          <>
            <Button onClick={close}>Close</Button>
            <Button
              variant="accent"
              onClick={() => {
                close();
                rememberTrust(localCa.fingerprint);
              }}
            >
              I trust it now
            </Button>
          </>
        }
      >
        <ol className="flex list-decimal flex-col gap-4 pl-5">
          <li>
            Download the root certificate.
            <div className="mt-2 flex flex-wrap gap-2">
              <RootDownloads serverName={server.name} localCa={localCa} />
            </div>
            <p className="mt-2 text-ink-faint text-sm">SHA-256 fingerprint</p>
            <Fingerprint localCa={localCa} />
          </li>
          <li>
            Add it to the trusted roots, then restart the browser.
            <PlatformSteps serverName={server.name} />
          </li>
        </ol>
      </Dialog>
    </>
  );
}
