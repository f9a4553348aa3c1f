// Schedule of a saved plan in its row: the rule, the next slot, and why the last one was skipped.
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import type { SavedPlan } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { scheduleText } from './schedule-text.ts';

export function ScheduleCell({ schedule }: Pick<SavedPlan, 'schedule'>) {
  const { paths } = useMe();
  const { timeZone: own } = useFormats();
  if (schedule === null) return <span className="text-ink-faint">–</span>;
  const { timeZone, paused, nextAt, last } = schedule;
  return (
    <span className="flex flex-col gap-0.5">
      <span title={`Time zone: ${timeZone}`} className="sm:whitespace-nowrap">
        {scheduleText(schedule)}
        {timeZone === own ? null : <span className="text-ink-soft"> {timeZone}</span>}
        {paused ? <span className="ml-2 text-warn-text">Paused</span> : null}
      </span>
      <span className="flex flex-wrap gap-x-2 whitespace-nowrap text-xs text-ink-faint">
        {nextAt === null ? null : (
          <span>
            Next <RelativeTime at={nextAt} />
          </span>
        )}
        {last?.runId == null ? null : (
          <HoverLink href={paths.benchmark(last.runId)} className="relative z-10 hover:underline">
            Last run
          </HoverLink>
        )}
      </span>
      {last === null || last.skipCode === null ? null : (
        <span className="min-w-28 max-w-64 text-pretty sm:min-w-52 text-warn-text text-xs">
          Skipped <RelativeTime at={last.at} />: {last.skipMessage ?? last.skipCode}
        </span>
      )}
    </span>
  );
}
