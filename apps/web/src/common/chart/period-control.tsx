'use client';
// Choice of a chart's period: ranges that end now, two moments, and the comparison with the period before.
import { Button } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Input } from '@fairlead/ui/input';
import { cn } from '@fairlead/ui/lib/class-names';
import { fromWallClock, toWallClock } from '@fairlead/ui/lib/time-zone';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { Segmented } from '@fairlead/ui/tabs';
import { CalendarRange, RotateCcw } from 'lucide-react';
import { type FormEvent, useId, useState } from 'react';
import { ranges } from './ranges.ts';
import type { PeriodState } from './use-period.ts';

export interface PeriodControlProps {
  readonly state: PeriodState;
  /** Shown period, which the fields of a custom one begin with. */
  readonly shown: { readonly from: Date; readonly to: Date } | null;
}

export function PeriodControl({ state, shown }: PeriodControlProps) {
  const { period, isCompared } = state;
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-line border-t px-4 py-2">
      <Segmented
        label="Period"
        value={period.range ?? ''}
        options={ranges}
        onValueChange={(value) => {
          setOpen(false);
          if (value !== '') state.setRange(value);
        }}
      />
      <Button
        size="small"
        variant="ghost"
        aria-expanded={isOpen}
        icon={<CalendarRange size={14} aria-hidden="true" />}
        onClick={() => setOpen(!isOpen)}
        className={cn(period.span !== null && 'font-medium text-ink')}
      >
        Custom
      </Button>
      {period.span === null ? null : (
        <Button
          size="small"
          variant="ghost"
          icon={<RotateCcw size={14} aria-hidden="true" />}
          onClick={() => {
            setOpen(false);
            state.reset();
          }}
        >
          Reset
        </Button>
      )}
      <Checkbox
        label="Compare with previous period"
        className="text-ink-soft text-sm sm:ml-auto"
        checked={isCompared}
        onChange={(event) => state.setCompared(event.target.checked)}
      />
      {isOpen ? <CustomPeriod state={state} shown={shown} /> : null}
    </div>
  );
}

function CustomPeriod({ state, shown }: PeriodControlProps) {
  const { timeZone } = useFormats();
  // Fields for a date and time take it to the minute.
  const fieldOf = (at: Date) => toWallClock(at, timeZone).slice(0, 16);
  const [from, setFrom] = useState(shown === null ? '' : fieldOf(shown.from));
  const [to, setTo] = useState(shown === null ? '' : fieldOf(shown.to));
  const id = useId();
  const [start, end] = [fromWallClock(from, timeZone), fromWallClock(to, timeZone)];
  const isValid = start !== null && end !== null && start < end;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isValid) state.setSpan({ from: start, to: end });
  };
  return (
    <form onSubmit={submit} className="flex basis-full flex-wrap items-center gap-2 text-sm" aria-label="Custom period">
      <label htmlFor={`${id}-from`} className="w-9 text-ink-faint">
        From
      </label>
      <span className="w-56">
        <Input
          id={`${id}-from`}
          type="datetime-local"
          required
          value={from}
          onChange={(event) => setFrom(event.target.value)}
        />
      </span>
      <label htmlFor={`${id}-to`} className="w-9 text-ink-faint sm:w-auto">
        To
      </label>
      <span className="w-56">
        <Input
          id={`${id}-to`}
          type="datetime-local"
          required
          value={to}
          aria-invalid={isValid ? undefined : true}
          aria-describedby={`${id}-problem`}
          onChange={(event) => setTo(event.target.value)}
        />
      </span>
      <SubmitButton disabled={!isValid}>Apply</SubmitButton>
      <span id={`${id}-problem`} aria-live="polite" className="text-bad-text">
        {isValid ? '' : 'The end must be after the start.'}
      </span>
    </form>
  );
}
