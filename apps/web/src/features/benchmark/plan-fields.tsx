'use client';
// Fields of a plan: path, concurrency, duration, rounds and protocols.
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { choicesWith, type PlanDraft } from './plan-draft.ts';
import { parseConcurrency, protocolLabel } from './results.ts';

export interface PlanFieldsProps {
  readonly draft: PlanDraft;
  readonly onDraft: (draft: PlanDraft) => void;
  /** Errors by field of the plan, such as `concurrency`. */
  readonly errorOf: (field: string) => string | undefined;
}

const PROTOCOLS = ['http1', 'http2', 'http3'] as const;
const SECONDS = [1, 2, 5, 10, 30];
const ROUNDS = [1, 3, 5, 9];

export function PlanFields({ draft, onDraft, errorOf }: PlanFieldsProps) {
  const isList = parseConcurrency(draft.concurrency) !== null;
  return (
    <>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field label="Path" error={errorOf('path')} className="sm:col-span-2">
          {(control) => (
            <Input
              {...control}
              mono
              value={draft.path}
              onChange={(event) => onDraft({ ...draft, path: event.target.value })}
            />
          )}
        </Field>
        <Field
          label="Concurrency"
          hint="Up to eight numbers, each at most 1024."
          error={isList ? errorOf('concurrency') : 'Enter numbers such as 1, 8, 32.'}
          className="sm:col-span-2"
        >
          {(control) => (
            <Input
              {...control}
              mono
              value={draft.concurrency}
              onChange={(event) => onDraft({ ...draft, concurrency: event.target.value })}
            />
          )}
        </Field>
        <Field label="Seconds per run" error={errorOf('durationMs')}>
          {(control) => (
            <Select
              {...control}
              value={draft.seconds}
              onChange={(event) => onDraft({ ...draft, seconds: event.target.value })}
            >
              {choicesWith(SECONDS, draft.base.durationMs / 1000).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Rounds" hint="Intervals need at least three." error={errorOf('repeats')}>
          {(control) => (
            <Select
              {...control}
              value={draft.repeats}
              onChange={(event) => onDraft({ ...draft, repeats: event.target.value })}
            >
              {choicesWith(ROUNDS, draft.base.repeats).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
        <legend className="mb-1.5 font-medium">Protocols</legend>
        {PROTOCOLS.map((protocol) => (
          <Checkbox
            key={protocol}
            label={protocolLabel[protocol]}
            checked={draft.protocols.includes(protocol)}
            onChange={(event) =>
              onDraft({
                ...draft,
                protocols: PROTOCOLS.filter((each) =>
                  each === protocol ? event.target.checked : draft.protocols.includes(each),
                ),
              })
            }
          />
        ))}
        {errorOf('protocols') === undefined ? null : (
          <p className="w-full text-bad-text text-sm">{errorOf('protocols')}</p>
        )}
      </fieldset>
    </>
  );
}

/** Finds the error of a field or of an item of it, below `prefix` in the API's input. */
export function errorsBelow(fields: Readonly<Record<string, string>>, prefix: string) {
  return (field: string): string | undefined => {
    const path = `${prefix}.${field}`;
    return fields[path] ?? Object.entries(fields).find(([name]) => name.startsWith(`${path}.`))?.[1];
  };
}
