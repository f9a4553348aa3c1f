'use client';
// Sets or removes the schedule of a saved plan.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Field, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { SavedPlan } from '../../api/types.ts';
import { hourLabel, weekdayLabels, zoneChoices } from './schedule-text.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

export interface ScheduleDialogProps {
  readonly plan: SavedPlan;
  readonly onClose: () => void;
}

export function ScheduleDialog({ plan, onClose }: ScheduleDialogProps) {
  const { timeZone: own } = useFormats();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const formId = useId();
  const update = useMutation(trpc.benchmarkPlan.updateSchedule.mutationOptions());
  const { schedule } = plan;
  const [weekday, setWeekday] = useState(schedule?.weekday ?? null);
  const [hour, setHour] = useState(schedule?.hour ?? 3);
  const [timeZone, setTimeZone] = useState(schedule?.timeZone ?? own);
  const failure = update.error === null ? null : readFailure(update.error);
  const store = (rule: { weekday: number | null; hour: number; timeZone: string } | null) =>
    update.mutate(
      { planId: plan.id, version: plan.version, schedule: rule },
      {
        onSuccess: () => {
          toast({ title: rule === null ? 'Schedule removed' : 'Schedule saved' });
          onClose();
        },
        // Also after a refusal, which may have come from a change of the plan.
        onSettled: () => void queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter()),
      },
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    store({ weekday, hour, timeZone });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Schedule ${plan.name}`}
      detail={`Fairlead starts it by itself on the server of ${plan.appName} in ${plan.environmentName}.`}
      footer={
        <>
          {schedule === null ? null : (
            <span className="mr-auto">
              <Button pending={update.isPending} onClick={() => store(null)}>
                Remove schedule
              </Button>
            </span>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton variant="accent" form={formId} pending={update.isPending}>
            Save schedule
          </SubmitButton>
        </>
      }
    >
      <form id={formId} noValidate onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
          <Field label="Day">
            {(control) => (
              <Select
                {...control}
                autoFocus
                value={weekday ?? ''}
                onChange={(event) => setWeekday(event.target.value === '' ? null : Number(event.target.value))}
              >
                <option value="">Every day</option>
                {weekdayLabels.map((label, index) => (
                  <option key={label} value={index + 1}>
                    {label}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Hour">
            {(control) => (
              <Select {...control} value={hour} onChange={(event) => setHour(Number(event.target.value))}>
                {HOURS.map((each) => (
                  <option key={each} value={each}>
                    {hourLabel(each)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Time zone" error={failure?.fields['schedule.timeZone']}>
            {(control) => (
              <Select {...control} value={timeZone} onChange={(event) => setTimeZone(event.target.value)}>
                {zoneChoices(own, schedule?.timeZone).map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </Select>
            )}
          </Field>
        </div>
        <WarnNote>
          Visitors of the app{plan.loadServers.length === 0 ? '' : ' and of apps on the load servers'} feel the load:
          choose an hour with few of them.
        </WarnNote>
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      </form>
    </Dialog>
  );
}
