'use client';
// Build plan of a new app, read from its repository by a server, with fields to override it. Never blocks the form.
import { Button } from '@fairlead/ui/button';
import { Field, Input } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { Spinner } from '@fairlead/ui/spinner';
import { StateMark } from '@fairlead/ui/state-pill';
import type { ReactNode } from 'react';
import { readFailure } from '../../api/failure.ts';
import { TextWithCode } from '../../common/page/text-with-code.tsx';
import { type BuildPlan, detectedOf, type Inspection, type PlanDraft, settableOf, titleOf } from './plan-draft.ts';

export interface PlanCardProps {
  readonly serverName: string;
  readonly inspection: Inspection | undefined;
  readonly error: unknown;
  readonly isFetching: boolean;
  readonly draft: PlanDraft;
  readonly onDraft: (draft: PlanDraft) => void;
  readonly onRootFolder: (folder: string) => void;
  readonly onRetry: () => void;
}

export function PlanCard({ serverName, inspection, error, isFetching, draft, onDraft, ...act }: PlanCardProps) {
  const plan = !isFetching && inspection?.kind === 'plan' ? inspection : null;
  return (
    <section aria-labelledby="plan-title" className="rounded-control border border-line">
      <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
        <h2 id="plan-title" className="font-semibold text-ink">
          Build plan
        </h2>
        {plan === null ? null : (
          <span className="text-ink-faint text-sm">
            <span className="font-mono">{plan.commit.hash.slice(0, 7)}</span>
            {plan.commit.branch === '' ? null : <span className="max-sm:hidden"> on {plan.commit.branch}</span>}
          </span>
        )}
        {isFetching ? null : (
          <Button size="small" variant="ghost" className="ml-auto" onClick={act.onRetry}>
            Detect again
          </Button>
        )}
      </header>
      <div className="flex flex-col gap-4 border-line border-t p-3">
        <div aria-live="polite" aria-busy={isFetching}>
          {isFetching ? (
            <PlanLoading serverName={serverName} />
          ) : plan !== null ? (
            <DetectedPlan plan={plan.plan} />
          ) : (
            <PlanFailureNote failure={failureOf(inspection, error)} onRootFolder={act.onRootFolder} />
          )}
        </div>
        {isFetching || (plan === null && !canOverride(inspection, draft)) ? null : (
          <Commands plan={plan?.plan ?? null} draft={draft} onDraft={onDraft} />
        )}
        {plan === null || settableOf(plan.plan).length === 0 ? null : (
          <Variables names={settableOf(plan.plan)} draft={draft} onDraft={onDraft} />
        )}
      </div>
    </section>
  );
}

function PlanLoading({ serverName }: { readonly serverName: string }) {
  return (
    <div className="flex flex-col gap-3">
      <p className="flex items-center gap-2 text-ink-soft">
        <Spinner /> {serverName} is reading the repository. You can deploy without waiting.
      </p>
      <Skeleton className="h-3.5 w-56" />
      <Skeleton className="h-3.5 w-80 max-w-full" />
    </div>
  );
}

function DetectedPlan({ plan }: { readonly plan: BuildPlan }) {
  const versions = plan.tools.filter(({ range }) => range !== '');
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium text-ink">{titleOf(plan)}</p>
      <ul className="flex flex-col gap-1 text-ink-soft text-sm">
        {plan.sentences.map((sentence) => (
          <li key={sentence} className="text-pretty break-words">
            <TextWithCode text={sentence} />
          </li>
        ))}
      </ul>
      {versions.length === 0 ? null : (
        <ul aria-label="Versions" className="flex flex-wrap gap-2 text-sm">
          {versions.map(({ tool, range, source }) => (
            <li key={tool} className="rounded-control bg-sunken px-2 py-1">
              <span className="font-mono">
                {tool} {range}
              </span>
              <span className="text-ink-faint"> · {source}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface PlanFailure {
  readonly sentence: string;
  readonly hint: string | null;
  readonly appFolders: readonly string[];
}

const DETECTED_LATER = 'You can create the app without a plan: its first deployment detects one.';

function failureOf(inspection: Inspection | undefined, error: unknown): PlanFailure {
  if (inspection?.kind !== 'failed') {
    const { fields, message } = readFailure(error);
    return { sentence: fields.repositoryUrl ?? message, hint: DETECTED_LATER, appFolders: [] };
  }
  const { code, sentence, appFolders } = inspection;
  // The fields are on this page, and the app has no settings yet.
  const here = sentence.replaceAll(' in the settings of the app', '');
  return { sentence: here, hint: nextSteps[code] ?? null, appFolders };
}

/** True if command fields may lead to a plan, or some were typed. */
function canOverride(inspection: Inspection | undefined, { install, build, start, output }: PlanDraft): boolean {
  const isUnclear = inspection?.kind === 'failed' && inspection.code === 'build.not_detected';
  const isTyped = [install, build, start, output].some((line) => line !== '');
  return isTyped || (isUnclear && inspection.appFolders.length === 0);
}

const nextSteps: Readonly<Record<string, string>> = {
  'build.clone_failed':
    'If it is private, enter a user name and a token above: the first deployment uses them and detects the plan.',
  'build.ref_not_found': 'Choose another branch above.',
  'build.root_folder_missing': 'Change the root folder above.',
  'build.not_detected': 'Change the root folder above, or set the commands here, then press Detect again.',
  'inspect.timeout': DETECTED_LATER,
  'inspect.too_large': DETECTED_LATER,
  'inspect.busy': DETECTED_LATER,
};

interface PlanFailureNoteProps {
  readonly failure: PlanFailure;
  readonly onRootFolder: (folder: string) => void;
}

function PlanFailureNote({ failure: { sentence, hint, appFolders }, onRootFolder }: PlanFailureNoteProps) {
  return (
    <div className="flex flex-col gap-3">
      <div className="flex gap-3 rounded-control bg-warn-wash px-3 py-2">
        <span className="mt-1">
          <StateMark tone="warn" />
        </span>
        <div className="flex min-w-0 flex-col gap-1 break-words">
          <p className="text-pretty">
            <TextWithCode text={sentence} />
          </p>
          {hint === null || appFolders.length > 0 ? null : <p className="text-ink-soft text-sm">{hint}</p>}
        </div>
      </div>
      {appFolders.length === 0 ? null : (
        <fieldset className="flex flex-wrap items-center gap-2">
          <legend className="mb-1.5 font-medium">Choose a root folder</legend>
          {appFolders.map((folder) => (
            <Button key={folder} size="small" className="font-mono" onClick={() => onRootFolder(folder)}>
              {folder}
            </Button>
          ))}
        </fieldset>
      )}
    </div>
  );
}

interface DraftProps {
  readonly draft: PlanDraft;
  readonly onDraft: (draft: PlanDraft) => void;
}

/** A site has an output folder and nothing to start, unless a start command is set. */
function Commands({ plan, draft, onDraft }: DraftProps & { readonly plan: BuildPlan | null }) {
  const detected = plan === null ? null : detectedOf(plan);
  const isContainer = plan?.builder === 'dockerfile';
  const isSite = detected !== null && detected.output !== '';
  const fields = [
    { name: 'install', label: 'Install command', isShown: !isContainer },
    { name: 'build', label: 'Build command', isShown: !isContainer },
    { name: 'start', label: 'Start command', isShown: !isSite },
    { name: 'output', label: 'Output folder', isShown: isSite || plan === null },
  ] as const;
  const empty = isContainer ? 'From the image' : 'None';
  return (
    <div className="grid grid-cols-1 gap-x-4 gap-y-4 sm:grid-cols-2">
      {fields
        .filter(({ isShown, name }) => isShown || draft[name] !== '')
        .map(({ name, label }) => (
          <Field key={name} label={label} hint={hintOf(draft[name], detected?.[name])}>
            {(control) => (
              <Input
                {...control}
                mono
                spellCheck={false}
                autoComplete="off"
                value={draft[name]}
                placeholder={detected === null ? 'Default: detected' : detected[name] || empty}
                onChange={(event) => onDraft({ ...draft, [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
    </div>
  );
}

/** Shows the detected value that an edited field replaces, because its placeholder is hidden. */
function hintOf(value: string, detected: string | undefined): ReactNode {
  if (value === '' || detected === undefined || detected === '') return null;
  return (
    <>
      Detected: <code className="break-all font-mono">{detected}</code>
    </>
  );
}

function Variables({ names, draft, onDraft }: DraftProps & { readonly names: readonly string[] }) {
  return (
    <fieldset className="grid grid-cols-1 gap-x-4 gap-y-4 sm:grid-cols-2">
      <legend className="mb-1.5 font-medium">Variables</legend>
      <p className="text-ink-faint text-sm sm:col-span-2">
        Found in the repository's example .env file. Values are stored as secrets and are available to builds too. You
        can set empty ones later.
      </p>
      {names.map((name) => (
        <Field key={name} label={<span className="break-all font-mono text-sm">{name}</span>}>
          {(control) => (
            <Input
              {...control}
              mono
              spellCheck={false}
              autoComplete="off"
              value={draft.variables[name] ?? ''}
              onChange={(event) => onDraft({ ...draft, variables: { ...draft.variables, [name]: event.target.value } })}
            />
          )}
        </Field>
      ))}
    </fieldset>
  );
}
