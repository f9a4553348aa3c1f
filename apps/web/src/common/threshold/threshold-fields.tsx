'use client';
// Editor of thresholds: metric, bound and limit, and the rows that each holds for.
import type { GateThreshold, Threshold } from '@fairlead/core/benchmark/schema';
import { Button } from '@fairlead/ui/button';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { BenchmarkDetail } from '../../api/types.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Line, useRows } from '../form/list-card.tsx';
import {
  boundLabel,
  draftError,
  emptyDraft,
  metricLook,
  parseDraft,
  THRESHOLDS_MAX,
  type ThresholdDraft,
  toDraft,
} from './threshold-draft.ts';

/** Rows of a plan that a threshold may be limited to, with their labels. */
export interface ThresholdRows {
  readonly targets: readonly { readonly value: BenchmarkDetail['plan']['targets'][number]; readonly label: string }[];
  readonly protocols: readonly {
    readonly value: BenchmarkDetail['plan']['protocols'][number];
    readonly label: string;
  }[];
  readonly concurrency: readonly number[];
}

export interface ThresholdFieldsProps {
  readonly first: readonly GateThreshold[];
  /** Metrics to offer. */
  readonly metrics: readonly Threshold['metric'][];
  /** Without it a threshold holds for every row. */
  readonly rows?: ThresholdRows;
  /** True: a limit may be a ratio to the live release. */
  readonly canCompare?: boolean;
  /** Attempts to send the form: an empty limit is an error from the next one on. Absent: at once. */
  readonly attempt?: number;
  /** Error of the server at a threshold. */
  readonly errorOf: (at: number) => string | undefined;
  /** Null while one of them is invalid. */
  readonly onChange: (thresholds: GateThreshold[] | null) => void;
}

const ANY = '';

export function ThresholdFields(props: ThresholdFieldsProps) {
  const { first, metrics, rows, canCompare = false, attempt, errorOf, onChange } = props;
  const drafts = useRows<ThresholdDraft>(first.map(toDraft), (next) =>
    onChange(next.every((draft) => draftError(draft) === null) ? next.map(parseDraft) : null),
  );
  const { rows: lines, add, remove, change } = drafts;
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1.5 font-medium">Thresholds</legend>
      {lines.map(({ key, item }, at) => (
        <Line
          key={key}
          remove={`Remove the threshold of ${metricLook[item.metric].label}`}
          onRemove={() => remove(key)}
          columns="grid-cols-2 sm:grid-cols-3"
        >
          <ChoiceField
            label="Metric"
            value={item.metric}
            options={metrics.map((value) => ({ value, label: metricLook[value].label }))}
            onValue={(metric) => change(key, { ...item, metric, bound: metricLook[metric].bound })}
          />
          <ChoiceField
            label="Bound"
            value={item.bound}
            options={(['max', 'min'] as const).map((value) => ({ value, label: boundLabel[value] }))}
            onValue={(bound) => change(key, { ...item, bound })}
          />
          {canCompare ? (
            <ChoiceField
              label="Compared with"
              value={item.relativeTo ?? ANY}
              options={[
                { value: ANY, label: 'Fixed limit' } as const,
                { value: 'live', label: 'Live release' } as const,
              ]}
              onValue={(value) => change(key, { ...item, relativeTo: value === ANY ? undefined : value })}
            />
          ) : null}
          <LimitField
            item={item}
            attempt={attempt}
            error={errorOf(at)}
            onValue={(limit) => change(key, { ...item, limit })}
          />
          {rows === undefined ? null : (
            <RowChoices item={item} rows={rows} onChange={(next) => change(key, { ...item, ...next })} />
          )}
        </Line>
      ))}
      {lines.length >= THRESHOLDS_MAX ? null : (
        <Button
          className="self-start"
          icon={<Plus size={15} aria-hidden="true" />}
          onClick={() => add(emptyDraft(metrics[0]))}
        >
          Add threshold
        </Button>
      )}
    </fieldset>
  );
}

interface LimitFieldProps {
  readonly item: ThresholdDraft;
  readonly attempt: number | undefined;
  /** Error of the server. */
  readonly error: string | undefined;
  readonly onValue: (limit: string) => void;
}

function LimitField({ item, attempt, error, onValue }: LimitFieldProps) {
  const [firstAttempt] = useState(attempt);
  const [isTouched, setTouched] = useState(false);
  const isDue = attempt === undefined || attempt !== firstAttempt || isTouched || item.limit !== '';
  return (
    <TextField
      label={item.relativeTo === undefined ? 'Limit' : 'Ratio'}
      error={(isDue ? draftError(item) : null) ?? error}
      value={item.limit}
      onValue={onValue}
      onBlur={() => setTouched(true)}
    />
  );
}

interface RowChoicesProps {
  readonly item: ThresholdDraft;
  readonly rows: ThresholdRows;
  readonly onChange: (part: Partial<ThresholdDraft>) => void;
}

/** Limits a threshold to some rows of the plan. */
function RowChoices({ item, rows, onChange }: RowChoicesProps) {
  const { targets, protocols, concurrency } = rows;
  const any = { value: ANY, label: 'All' } as const;
  return (
    <>
      <ChoiceField
        label="Target"
        value={item.target ?? ANY}
        options={[any, ...targets]}
        onValue={(value) => onChange({ target: value === ANY ? undefined : value })}
      />
      <ChoiceField
        label="Protocol"
        value={item.protocol ?? ANY}
        options={[any, ...protocols]}
        onValue={(value) => onChange({ protocol: value === ANY ? undefined : value })}
      />
      <ChoiceField
        label="Concurrency"
        value={String(item.concurrency ?? ANY)}
        options={[any, ...concurrency.map((level) => ({ value: String(level), label: String(level) }))]}
        onValue={(value) => onChange({ concurrency: value === ANY ? undefined : Number(value) })}
      />
    </>
  );
}
