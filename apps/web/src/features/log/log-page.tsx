'use client';
// Log page of an app: stored and new lines in one view, with one set of filters in the URL.
import { Button } from '@fairlead/ui/button';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorState } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { type FieldChoice, fieldChoices, hasFields } from '@fairlead/ui/lib/log-lines';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StateMark, StateText } from '@fairlead/ui/state-pill';
import { Pause, Play } from 'lucide-react';
import { usePathname, useSearchParams } from 'next/navigation';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { AppDetail, LogFilter } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { LogView } from '../../common/log/log-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';
import { LogFilters, type LogFilterValues, useLogFilters, useToggleField } from './log-filters.tsx';
import { momentOfId, regexOfField, toViewLines } from './log-lines.ts';
import { type AppLog, useAppLog } from './use-app-log.ts';

const HEIGHT = 'h-[28rem] lg:h-[calc(100dvh-19rem)] lg:min-h-[28rem]';
/** Value of `mode` that holds new lines back. */
const PAUSED = 'paused';

export function LogPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { app, placement } = useAppInEnvironment(slug, initial);
  const filters = useLogFilters();
  const mode = useUrlFilter('mode');
  const at = useUrlFilter('at');
  const [choices, setChoices] = useState<readonly FieldChoice[]>([]);
  const filter = filterOf(app.id, app.environmentId, filters);
  const aroundMs = momentOfId(at.value);
  const key = JSON.stringify([filter, filters.lengthMs, aroundMs]);
  return (
    <section aria-label="Logs" className="flex flex-col gap-4">
      <LogFilters app={app} choices={choices} />
      {placement === null ? (
        <LogFrame>
          <EmptyState title="Not running yet">Log lines appear here when a deployment has started the app.</EmptyState>
        </LogFrame>
      ) : (
        <AppLogView
          key={key}
          app={app}
          filter={filter}
          filters={filters}
          linkedId={aroundMs === null ? null : at.value}
          aroundMs={aroundMs}
          isPaused={mode.value === PAUSED}
          onPausedChange={(paused) => mode.set(paused ? PAUSED : '')}
          onLeaveLine={() => at.set('')}
          onChoices={setChoices}
        />
      )}
    </section>
  );
}

function filterOf(appId: string, environmentId: string, filters: LogFilterValues): LogFilter {
  const { level, process, instanceId, serverId } = filters;
  return {
    appId,
    environmentId,
    ...textFilterOf(filters),
    ...(level === null ? {} : { level }),
    ...(process === '' ? {} : { process }),
    ...(instanceId === '' ? {} : { instanceId }),
    ...(serverId === '' ? {} : { serverId }),
  };
}

/** A server filters by one text: by the one searched for, else by the first field. The browser filters by all fields. */
function textFilterOf({ text, regex, fields }: LogFilterValues): Pick<LogFilter, 'text' | 'regex'> {
  if (text !== '') return { text, regex };
  const ofField = fields[0] === undefined ? null : regexOfField(fields[0]);
  return ofField === null ? {} : { text: ofField, regex: true };
}

interface AppLogViewProps {
  readonly app: AppDetail;
  readonly filter: LogFilter;
  readonly filters: LogFilterValues;
  readonly linkedId: string | null;
  readonly aroundMs: number | null;
  readonly isPaused: boolean;
  readonly onPausedChange: (paused: boolean) => void;
  readonly onLeaveLine: () => void;
  readonly onChoices: (choices: readonly FieldChoice[]) => void;
}

function AppLogView(props: AppLogViewProps) {
  const { app, filter, filters, linkedId, aroundMs, isPaused, onChoices } = props;
  const live = aroundMs === null && !isPaused;
  const log = useAppLog({ filter, lengthMs: filters.lengthMs, aroundMs, live });
  const toggleField = useToggleField();
  const params = useSearchParams();
  const pathname = usePathname();
  const { fields } = filters;
  const all = useMemo(() => toViewLines(log.lines), [log.lines]);
  const lines = useMemo(
    () => (fields.length === 0 ? all : all.filter((line) => hasFields(line, fields))),
    [all, fields],
  );
  useEffect(() => onChoices(fieldChoices(all)), [all, onChoices]);

  if (!log.loaded) {
    return log.error === null ? (
      <Skeleton className={HEIGHT} />
    ) : (
      <LogFrame>
        <LogError error={log.error} onRetry={log.retry} />
      </LogFrame>
    );
  }
  const isFiltered = filters.text !== '' || filters.level !== null || fields.length > 0;
  const environment = params.get('environment');
  /** Address of a line, with all filters or without them. */
  const hrefOf = (id: string, withFilters: boolean) => {
    const changed = new URLSearchParams(withFilters ? params : environment === null ? {} : { environment });
    changed.delete('mode');
    changed.set('at', id);
    return `${pathname}?${changed}`;
  };
  return (
    <div className={HEIGHT}>
      <LogView
        className="h-full"
        lines={lines}
        live={live && log.tailState !== 'failed'}
        numbered={false}
        histogram
        fileName={`${app.slug}.log`}
        filteredBy={filters.regex ? '' : filters.text}
        linkedId={linkedId}
        hrefOf={({ id }) => hrefOf(id, true)}
        contextHrefOf={({ id }) => (isFiltered ? hrefOf(id, false) : null)}
        onField={toggleField}
        status={<LogStatus log={log} lineCount={lines.length} {...props} />}
        notice={
          <>
            <MissingServers app={app} failures={log.failures} />
            {log.tailState === 'failed' || log.error !== null ? (
              <LogError error={log.error ?? log.tailError} onRetry={log.retry} />
            ) : null}
          </>
        }
        head={
          log.hasOlder ? (
            <div className="flex justify-center py-1 font-sans">
              <Button size="small" pending={log.isLoadingOlder} onClick={log.loadOlder}>
                Show older lines
              </Button>
            </div>
          ) : null
        }
        empty={
          isFiltered ? 'No line matches. Use a shorter search, a longer time range or all levels.' : 'No lines yet.'
        }
      />
    </div>
  );
}

interface LogStatusProps extends AppLogViewProps {
  readonly log: AppLog;
  readonly lineCount: number;
}

function LogStatus({ log, lineCount, aroundMs, isPaused, onPausedChange, onLeaveLine }: LogStatusProps) {
  const { plural } = useFormats();
  return (
    <>
      {aroundMs !== null ? (
        <Button size="small" onClick={onLeaveLine}>
          Back to newest lines
        </Button>
      ) : (
        <Button
          size="small"
          icon={isPaused ? <Play size={14} aria-hidden="true" /> : <Pause size={14} aria-hidden="true" />}
          onClick={() => onPausedChange(!isPaused)}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      )}
      {log.tailState === 'live' ? <StateText tone="live">Live</StateText> : null}
      {log.tailState === 'connecting' ? <StateText tone="busy">Connecting</StateText> : null}
      <span className="text-ink-faint text-sm max-sm:hidden">
        {plural(lineCount, 'line')}
        {log.hasOlder ? ', and older ones' : ''}
      </span>
    </>
  );
}

function LogError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const failure = readFailure(error);
  return (
    <ErrorState
      title="The log can't be read"
      message={failure.message}
      errorId={failure.errorId ?? undefined}
      onRetry={onRetry}
    />
  );
}

interface MissingServersProps {
  readonly app: AppDetail;
  readonly failures: AppLog['failures'];
}

/** Lists servers that did not answer: their lines are missing. */
function MissingServers({ app, failures }: MissingServersProps) {
  if (failures.length === 0) return null;
  const names = new Map(
    app.placements.flatMap(({ servers }) => servers.map((each) => [each.serverId as string, each.serverName])),
  );
  return (
    <ul className="border-line border-b bg-warn-wash px-4 py-2 text-sm">
      {failures.map(({ serverId, sentence }) => (
        <li key={serverId} className="flex items-center gap-2">
          <StateMark tone="warn" />
          <span className="text-pretty">
            {names.get(serverId) ?? 'A server'}: {sentence}
          </span>
        </li>
      ))}
    </ul>
  );
}

function LogFrame({ children }: { readonly children: ReactNode }) {
  return (
    <div className={`${HEIGHT} flex flex-col overflow-hidden rounded-card border border-line bg-surface`}>
      {children}
    </div>
  );
}
