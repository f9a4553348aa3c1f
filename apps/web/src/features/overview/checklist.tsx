'use client';
// First steps in a new organization. They tick themselves from what the organization has.
import { IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { cn } from '@fairlead/ui/lib/class-names';
import { StateMark } from '@fairlead/ui/state-pill';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Overview } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import type { Paths } from '../../common/organization/paths.ts';
import { HoverLink } from '../../common/page/hover-link.tsx';

type Step = NonNullable<Overview['checklist']>[number]['step'];

interface StepText {
  readonly title: string;
  readonly hint: string;
  readonly href: (paths: Paths) => string;
}

const STEP: Readonly<Record<Step, StepText>> = {
  deploy: {
    title: 'Deploy an app',
    hint: 'From a repository, an image or a folder.',
    href: ({ newApp }) => newApp,
  },
  domain: { title: 'Add a domain', hint: "On an app's Domains page.", href: ({ apps }) => apps },
  invite: { title: 'Invite a member', hint: 'With the role that they need.', href: ({ members }) => members },
  server: { title: 'Add a second server', hint: 'One command installs the agent.', href: ({ addServer }) => addServer },
  backups: {
    title: 'Set up backups',
    hint: 'Scheduled copies of the control plane.',
    href: ({ controlPlane }) => controlPlane,
  },
  mail: { title: 'Set up email', hint: 'For invitations and notifications.', href: ({ controlPlane }) => controlPlane },
};

export function Checklist({ steps }: { readonly steps: NonNullable<Overview['checklist']> }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const close = useAction(
    useMutation(trpc.overview.closeChecklist.mutationOptions()),
    "The checklist wasn't dismissed",
    () => void queryClient.invalidateQueries(trpc.overview.pathFilter()),
  );
  const done = steps.filter(({ isDone }) => isDone).length;
  return (
    <Card aria-label="Get started">
      <CardHeader
        title="Get started"
        detail={`${done} of ${steps.length} done`}
        action={
          <IconButton
            label="Dismiss checklist"
            size="small"
            disabled={close.pending}
            onClick={() => close.run(undefined)}
          >
            <CrossIcon />
          </IconButton>
        }
      />
      <ul
        className={cn(
          'grid overflow-hidden rounded-b-card border-line border-t sm:grid-cols-2',
          steps.length === 4 ? 'lg:grid-cols-4' : 'lg:grid-cols-3',
        )}
      >
        {steps.map(({ step, isDone }) => (
          <li
            key={step}
            className="relative -mr-px -mb-px flex gap-2.5 border-line border-r border-b px-4 py-3 hover:bg-hover"
          >
            <span className="mt-1">
              <StateMark tone={isDone ? 'ok' : 'idle'} />
            </span>
            <div className="min-w-0">
              <HoverLink
                href={STEP[step].href(paths)}
                className={cn(
                  "font-medium after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent-text",
                  isDone && 'text-ink-faint',
                )}
              >
                {STEP[step].title}
                {isDone ? <span className="sr-only"> (done)</span> : null}
              </HoverLink>
              <p className="text-sm text-ink-faint">{STEP[step].hint}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
