'use client';
// Step between the creation of an app with a deploy key and its first deployment: shows the key and where to add it.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { useMutation } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { deployKeyPage } from './app-form.ts';

export interface DeployKeyStepProps {
  readonly appId: string;
  readonly slug: string;
  readonly repositoryUrl: string;
  readonly publicKey: string;
}

export function DeployKeyStep({ appId, slug, repositoryUrl, publicKey }: DeployKeyStepProps) {
  const { paths } = useMe();
  const router = useRouter();
  const deploy = useAction(
    useMutation(useTRPC().deployment.create.mutationOptions()),
    "The app wasn't deployed",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  const keyPage = deployKeyPage(repositoryUrl);
  return (
    <Card className="p-5">
      <h2 className="font-semibold text-lg">Add the deploy key</h2>
      <p className="mt-1 text-pretty text-ink-soft">
        App created. Its server reads the repository with this key only. The private key is sealed for the server and
        never shown.
      </p>
      <div className="mt-4 flex min-w-0 items-center gap-1 rounded-control bg-sunken pl-3">
        <code className="min-w-0 flex-1 truncate py-2.5 font-mono text-sm" title={publicKey}>
          {publicKey}
        </code>
        <CopyButton value={publicKey} label="Copy public key" />
      </div>
      <ol className="mt-4 flex list-decimal flex-col gap-1.5 pl-5 marker:text-ink-faint">
        <li>Copy the line above.</li>
        <li>
          Add it to {keyPage.name} as a deploy key of this repository, with read access.{' '}
          {keyPage.url === null ? null : (
            <a
              href={keyPage.url}
              target="_blank"
              rel="noreferrer"
              className="inline-flex items-center gap-1 rounded-mark underline"
            >
              Open {keyPage.name}
              <ExternalLink size={13} aria-hidden="true" />
              <span className="sr-only">(opens in a new tab)</span>
            </a>
          )}
        </li>
        <li>Deploy.</li>
      </ol>
      <footer className="mt-5 flex flex-wrap items-center justify-end gap-2">
        <HoverLink href={paths.appSettingsIn('source')(slug)} className={buttonClass('ghost')}>
          Deploy later
        </HoverLink>
        <Button variant="accent" pending={deploy.pending} onClick={() => deploy.run({ appId })}>
          Deploy app
        </Button>
      </footer>
    </Card>
  );
}
