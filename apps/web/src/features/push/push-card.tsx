'use client';
// Deploy on push, in an app's settings: pause, tag pattern, watch paths and required checks of one environment.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Field, Textarea } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StatePill } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Outputs } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { CommitLine } from '../../common/deployment/commit-line.tsx';
import { changedFields } from '../../common/form/changed-fields.ts';
import { NumberField, TextField, type TextFieldProps } from '../../common/form/fields.tsx';
import { SaveBar } from '../../common/form/save-bar.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

type PushRules = Outputs['push']['getRules'];

export function PushCard({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const rules = useQuery(trpc.push.getRules.queryOptions({ appId: app.id, environmentId: app.environmentId }));
  const [discards, setDiscards] = useState(0);
  if (app.repositoryUrl === '') return null;
  return (
    <Card>
      <CardHeader
        title="Deploy on push"
        detail={app.placements.length > 1 ? `In ${app.environmentName}` : undefined}
        action={
          <HoverLink href={paths.deliveries} className={buttonClass('ghost')}>
            Deliveries
          </HoverLink>
        }
      />
      <div className="border-line border-t">
        <QueryView query={rules} skeleton={<Skeleton className="m-4 h-40" />}>
          {(data) => (
            <>
              <Status app={app} rules={data} />
              <RulesForm
                key={`${JSON.stringify(draftOf(data))} ${data.environmentId} ${discards}`}
                app={app}
                rules={data}
                onDiscard={() => setDiscards(discards + 1)}
              />
            </>
          )}
        </QueryView>
      </div>
    </Card>
  );
}

function Status({ app, rules }: { readonly app: AppDetail; readonly rules: PushRules }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const refresh = () => {
    void queryClient.invalidateQueries(trpc.push.pathFilter());
    void queryClient.invalidateQueries(trpc.app.pathFilter());
  };
  const pause = useAction(useMutation(trpc.deployment.pause.mutationOptions()), 'Nothing was changed', refresh);
  const retry = useAction(useMutation(trpc.push.retry.mutationOptions()), "The push wasn't deployed", refresh);
  const { appId, environmentId, heldPush, paused } = rules;
  const branch = rules.branch === '' ? 'the default branch' : rules.branch;
  const mayDeploy = can('deployment.write', app);
  return (
    <div className="flex flex-col gap-3 p-4">
      <div className="flex flex-wrap items-center gap-3">
        <StatePill tone={paused ? 'warn' : rules.receivesPushes ? 'ok' : 'idle'}>
          {paused ? 'Paused' : rules.receivesPushes ? 'On' : 'Not connected'}
        </StatePill>
        <p className="min-w-0 flex-1 basis-64 text-pretty text-ink-soft">
          {paused
            ? 'Pushes are recorded but not deployed. Members can still deploy manually.'
            : rules.receivesPushes
              ? `A push to ${branch} deploys that commit.`
              : 'No git host reports pushes to this repository yet. Connect GitHub or create a webhook.'}
        </p>
        {mayDeploy ? (
          <Button pending={pause.pending} onClick={() => pause.run({ appId, environmentId, paused: !paused })}>
            {paused ? 'Resume deploys' : 'Pause deploys'}
          </Button>
        ) : null}
      </div>
      {heldPush === null ? null : (
        <div className="flex flex-wrap items-center gap-3 rounded-control bg-sunken px-3 py-2">
          <span className="min-w-0 flex-1 basis-64">
            <span className="block text-ink-faint text-sm">
              Newest push while paused, <RelativeTime at={heldPush.receivedAt} />
            </span>
            <CommitLine hash={heldPush.commitHash} subject={heldPush.commitSubject} author={heldPush.commitAuthor} />
          </span>
          {mayDeploy && !paused ? (
            <Button
              pending={retry.pending}
              onClick={() => retry.run({ deliveryId: heldPush.deliveryId, appId, environmentId })}
            >
              Deploy push
            </Button>
          ) : null}
        </div>
      )}
    </div>
  );
}

interface RulesDraft {
  /** Lines of text. */
  readonly watchPaths: string;
  readonly tagPattern: string;
  /** Lines of text. */
  readonly requiredChecks: string;
  readonly checksTimeoutMinutes: number;
}

function draftOf({ watchPaths, tagPattern, requiredChecks, checksTimeoutMinutes }: PushRules): RulesDraft {
  return {
    watchPaths: watchPaths.join('\n'),
    tagPattern,
    requiredChecks: requiredChecks.join('\n'),
    checksTimeoutMinutes,
  };
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function RulesForm({ app, rules, onDiscard }: RulesFormProps) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.push.updateRules.mutationOptions());
  const [draft, setDraft] = useState(() => draftOf(rules));
  const failure = update.error === null ? null : readFailure(update.error);
  const { appId, environmentId, canWaitForChecks } = rules;
  const readOnly = !can('app.write', app);
  const field = <Name extends keyof RulesDraft>(name: Name) => ({
    value: draft[name],
    error: Object.entries(failure?.fields ?? {}).find(([path]) => path.startsWith(name))?.[1],
    onValue: (value: RulesDraft[Name]) => setDraft((all) => ({ ...all, [name]: value })),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { checksTimeoutMinutes } = draft;
    update.mutate(
      {
        appId,
        environmentId,
        tagPattern: draft.tagPattern.trim(),
        watchPaths: linesOf(draft.watchPaths),
        ...(canWaitForChecks ? { requiredChecks: linesOf(draft.requiredChecks), checksTimeoutMinutes } : {}),
      },
      {
        onSuccess: () => {
          toast({ title: 'Rules saved', detail: 'They apply to the next push.' });
          void queryClient.invalidateQueries(trpc.push.pathFilter());
        },
      },
    );
  };
  const changed = changedFields(draftOf(rules), draft).length;
  return (
    <form onSubmit={submit} noValidate aria-label="Deploy on push" className="border-line border-t">
      <fieldset disabled={readOnly} className="grid grid-cols-1 gap-x-4 gap-y-5 p-4 sm:grid-cols-2">
        <LinesField
          label="Watch paths"
          hint="One glob per line. A push deploys if it changes a matching path; “!” excludes paths."
          placeholder="Default: every push"
          {...field('watchPaths')}
        />
        <TextField
          label="Tag pattern"
          hint="Glob of the tags to deploy, such as v*."
          placeholder="Default: no tags"
          {...field('tagPattern')}
        />
        {canWaitForChecks ? (
          <>
            <LinesField
              label="Required checks"
              hint="Names of checks at GitHub, one a line. A push deploys once they pass."
              placeholder="Default: none"
              {...field('requiredChecks')}
            />
            <NumberField
              label="Check timeout"
              hint="A deployment that waits longer for checks fails."
              min={1}
              unit="wholeMinutes"
              {...field('checksTimeoutMinutes')}
            />
          </>
        ) : null}
        {canWaitForChecks && app.rootFolder !== '' && !readOnly ? (
          <SuggestPaths
            placement={{ appId, environmentId }}
            onSuggest={(lines) => setDraft((all) => ({ ...all, watchPaths: lines.join('\n') }))}
          />
        ) : null}
      </fieldset>
      {readOnly || changed === 0 ? null : (
        <SaveBar
          changed={changed}
          pending={update.isPending}
          failure={failure}
          onDiscard={onDiscard}
          detail="Applies to the next push."
        />
      )}
    </form>
  );
}

interface RulesFormProps {
  readonly app: AppDetail;
  readonly rules: PushRules;
  readonly onDiscard: () => void;
}

type LinesFieldProps = Omit<TextFieldProps, 'isProse'>;

function LinesField({ value, placeholder, onValue, ...field }: LinesFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <Textarea
          {...control}
          mono
          rows={3}
          spellCheck={false}
          value={value}
          placeholder={placeholder}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

interface SuggestPathsProps {
  readonly placement: Pick<PushRules, 'appId' | 'environmentId'>;
  readonly onSuggest: (lines: readonly string[]) => void;
}

/** Fills in the paths that the workspace of the repository names. They are saved with the rules. */
function SuggestPaths({ placement, onSuggest }: SuggestPathsProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const suggest = useAction(
    useMutation({
      mutationFn: () => queryClient.fetchQuery({ ...trpc.push.suggestPaths.queryOptions(placement), staleTime: 0 }),
    }),
    "The repository can't be read",
    ({ watchPaths }) => {
      if (watchPaths.length === 0)
        toast({ title: 'Nothing to suggest', detail: 'No workspace file in the repository lists this app.' });
      else {
        onSuggest(watchPaths);
        toast({ title: 'Watch paths filled in', detail: 'Check them, then save.' });
      }
    },
  );
  return (
    <p className="flex flex-wrap items-center gap-3 sm:col-span-2">
      <Button size="small" pending={suggest.pending} onClick={() => suggest.run()}>
        Suggest watch paths
      </Button>
      <span className="text-ink-faint text-sm">
        From the workspace in the repository: npm, pnpm, Yarn, Turborepo, Cargo or Go.
      </span>
    </p>
  );
}
