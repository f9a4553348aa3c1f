'use client';
// Page of one delivery: its push, the decision for each app with its reason, and the payload.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { RotateCcw } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import {
  lookOfPreviewDecision,
  type PreviewDecision,
  sentenceOfPreview,
} from '../../common/deployment/preview-looks.ts';
import { LookPill, LookText } from '../../common/deployment/state-view.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { lookOfDecision, lookOfDelivery, type PushDecision, sentenceOf, shortRef } from './decision-looks.ts';

type DeliveryDetail = Outputs['push']['get'];

export interface DeliveryPageProps {
  readonly deliveryId: DeliveryDetail['id'];
  readonly initial: DeliveryDetail;
}

export function DeliveryPage({ deliveryId, initial }: DeliveryPageProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const delivery = useQuery({ ...trpc.push.get.queryOptions({ deliveryId }), initialData: initial }).data;
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          breadcrumb={<Crumbs items={[{ title: 'Webhook deliveries', href: paths.deliveries }]} />}
          title={delivery.commitSubject || delivery.event}
          pill={<LookPill look={lookOfDelivery(delivery)} />}
        />
        <div className="flex flex-col gap-6">
          <Card className="p-4">
            <Facts className="grid-cols-2 sm:grid-cols-4" items={factsOf(delivery)} />
          </Card>
          <Card>
            <CardHeader title="Decisions" detail="One for each app and environment" />
            {delivery.decisions.length === 0 && delivery.previews.length === 0 ? (
              <p className="border-line border-t px-4 py-4 text-ink-faint">
                {delivery.problem || withoutDecisions[delivery.state]}
              </p>
            ) : (
              <ul>
                {delivery.decisions.map((decision) => (
                  <Decision
                    key={`${decision.appId} ${decision.environmentId}`}
                    decision={decision}
                    deliveryId={deliveryId}
                    isPush={delivery.event === 'push'}
                  />
                ))}
                {delivery.previews.map((decision) => (
                  <PreviewDecisionRow key={decision.appId} decision={decision} />
                ))}
              </ul>
            )}
          </Card>
          <Payload body={delivery.body} />
        </div>
      </Page>
    </OrganizationLive>
  );
}

const withoutDecisions = {
  received: 'This delivery waits to be processed.',
  processed: "Fairlead processed this GitHub event. It doesn't affect a deployment.",
  ignored: '',
  failed: '',
} as const satisfies Record<DeliveryDetail['state'], string>;

function factsOf(delivery: DeliveryDetail) {
  const { repository, commitHash, sender, commitAuthor, deliveryKey } = delivery;
  const mono = (text: string) => <span className="break-all font-mono text-sm">{text}</span>;
  const isPush = delivery.event === 'push';
  const push = [
    { term: 'Repository', value: repository || '–' },
    { term: 'Ref', value: mono(shortRef(delivery.ref)) },
    { term: 'Commit', value: commitHash === null ? '–' : mono(commitHash.slice(0, 12)) },
    { term: 'Author', value: commitAuthor || '–' },
    { term: 'Pushed by', value: sender || '–' },
  ];
  return [
    ...(isPush ? push : []),
    { term: 'Source', value: sourceOf(delivery) },
    { term: 'Received', value: <RelativeTime at={delivery.receivedAt} /> },
    { term: 'Delivery ID', value: mono(deliveryKey) },
  ];
}

function sourceOf({ source, isRecovered }: DeliveryDetail): string {
  if (source === 'app') return 'Webhook of the app';
  return isRecovered ? 'GitHub’s delivery log, because it did not arrive' : 'GitHub App';
}

interface DecisionProps {
  readonly decision: PushDecision;
  readonly deliveryId: string;
  /** False: a request on a check run. People repeat it at GitHub. */
  readonly isPush: boolean;
}

function Decision({ decision, deliveryId, isPush }: DecisionProps) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const { appId, environmentId, deploymentId } = decision;
  const retry = useAction(
    useMutation(trpc.push.retry.mutationOptions()),
    "The push wasn't processed again",
    ({ outcome }) => {
      toast({ title: outcome === 'deployed' ? 'Deployment queued' : 'Processed again: the decision is the same' });
      void queryClient.invalidateQueries(trpc.push.pathFilter());
    },
  );
  const superseded = decision.reason === 'later_push' || decision.reason === 'repeated';
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
      <span className="min-w-0 flex-1 basis-72">
        <span className="flex flex-wrap items-baseline gap-x-2">
          <HoverLink href={paths.app(decision.appSlug, environmentId)} className="font-medium hover:underline">
            {decision.appName}
          </HoverLink>
          <span className="text-ink-faint text-sm">{decision.environmentName}</span>
          <LookText look={lookOfDecision(decision)} />
        </span>
        <span className="mt-0.5 block text-pretty text-ink-soft">{sentenceOf(decision)}</span>
      </span>
      {deploymentId !== null && decision.deploymentNumber !== null ? (
        <HoverLink href={paths.deployment(deploymentId)} className="text-sm hover:underline">
          Deployment <span className="tabular font-mono">#{decision.deploymentNumber}</span>
        </HoverLink>
      ) : null}
      {superseded ? (
        <HoverLink href={paths.delivery(decision.detail)} className="text-sm hover:underline">
          That delivery
        </HoverLink>
      ) : null}
      {isPush && deploymentId === null && can('deployment.write', { environmentId }) ? (
        <Button
          size="small"
          icon={<RotateCcw size={14} aria-hidden="true" />}
          pending={retry.pending}
          onClick={() => retry.run({ deliveryId, appId, environmentId })}
        >
          Process again
        </Button>
      ) : null}
    </li>
  );
}

function PreviewDecisionRow({ decision }: { readonly decision: PreviewDecision }) {
  const { paths } = useMe();
  const { appName, appSlug, outcome, detail, deploymentId, number } = decision;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
      <span className="min-w-0 flex-1 basis-72">
        <span className="flex flex-wrap items-baseline gap-x-2">
          <HoverLink href={paths.appPreviews(appSlug)} className="font-medium hover:underline">
            {appName}
          </HoverLink>
          <span className="text-ink-faint text-sm">Preview of #{number}</span>
          <LookText look={lookOfPreviewDecision(decision)} />
        </span>
        <span className="mt-0.5 block text-pretty text-ink-soft">{sentenceOfPreview(outcome, detail)}</span>
      </span>
      {deploymentId === null ? null : (
        <HoverLink href={paths.deployment(deploymentId)} className="text-sm hover:underline">
          Deployment
        </HoverLink>
      )}
    </li>
  );
}

function Payload({ body }: { readonly body: string }) {
  const text = formatted(body);
  return (
    <Card>
      <CardHeader title="Payload" action={<CopyButton value={text} label="Copy payload" />} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must reach what scrolls */}
      <pre tabIndex={0} className="max-h-96 overflow-auto border-line border-t bg-sunken p-4 font-mono text-xs">
        {text}
      </pre>
    </Card>
  );
}

/** A body that is no JSON is shown as it came. */
function formatted(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
