'use client';
// Filters of an app's log, stored in the URL so that a search can be linked.
import { Checkbox, Select } from '@fairlead/ui/input';
import { SearchInput } from '@fairlead/ui/search-input';
import type { AppDetail } from '../../api/types.ts';
import { placementOf } from '../../common/app/app-placement.ts';
import { useUrlFilter, useUrlSearch } from '../../common/page/use-url-state.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];
const levelWord: Record<Level, string> = {
  debug: 'Debug and above',
  info: 'Info and above',
  warn: 'Warnings and errors',
  error: 'Errors',
};

const spans = [
  { value: '15m', label: 'Last 15 minutes', lengthMs: 15 * 60_000 },
  { value: '', label: 'Last hour', lengthMs: 3_600_000 },
  { value: '24h', label: 'Last 24 hours', lengthMs: 86_400_000 },
  { value: '7d', label: 'Last 7 days', lengthMs: 7 * 86_400_000 },
  { value: 'all', label: 'All retained', lengthMs: null },
] as const;

export interface LogFilterValues {
  readonly text: string;
  readonly regex: boolean;
  readonly level: Level | null;
  readonly process: string;
  readonly instanceId: string;
  readonly serverId: string;
  /** Length of the searched period in milliseconds; null searches from the beginning. */
  readonly lengthMs: number | null;
}

function useFields() {
  return {
    regex: useUrlFilter('regex'),
    level: useUrlFilter('level'),
    process: useUrlFilter('process'),
    instance: useUrlFilter('instance'),
    server: useUrlFilter('server'),
    span: useUrlFilter('span'),
  };
}

export function useLogFilters(): LogFilterValues {
  const text = useUrlFilter('text');
  const { regex, level, process, instance, server, span } = useFields();
  return {
    text: text.value,
    regex: regex.value !== '',
    level: levels.find((each) => each === level.value) ?? null,
    process: process.value,
    instanceId: instance.value,
    serverId: server.value,
    lengthMs: (spans.find((each) => each.value === span.value) ?? spans[1]).lengthMs,
  };
}

export function LogFilters({ app, live }: { readonly app: AppDetail; readonly live: boolean }) {
  const search = useUrlSearch('text');
  const { regex, level, process, instance, server, span } = useFields();
  const processes = [...new Set(['web', ...app.instances.map((each) => each.process), process.value])].filter(Boolean);
  const instances = [...new Set([...app.instances.map(({ id }): string => id), instance.value])].filter(Boolean);
  const servers = placementOf(app)?.servers ?? [];
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchInput
        label="Search log"
        value={search.typed}
        onValueChange={search.setTyped}
        maxLength={500}
        className="max-w-80 flex-1 basis-56 max-sm:max-w-none max-sm:basis-full"
      />
      <Checkbox
        label="Regex"
        className="h-9 px-1"
        checked={regex.value !== ''}
        onChange={(event) => regex.set(event.target.checked ? '1' : '')}
      />
      <Choice label="Level" value={level.value} onChange={level.set} first="All levels">
        {levels.map((each) => ({ value: each, label: levelWord[each] }))}
      </Choice>
      {live ? null : (
        <Select
          aria-label="Time"
          className="max-sm:flex-1 sm:max-w-44"
          value={span.value}
          onChange={(event) => span.set(event.target.value)}
        >
          {spans.map((each) => (
            <option key={each.value} value={each.value}>
              {each.label}
            </option>
          ))}
        </Select>
      )}
      {processes.length > 1 ? (
        <Choice label="Process" value={process.value} onChange={process.set} first="All processes">
          {processes.map((each) => ({ value: each, label: each }))}
        </Choice>
      ) : null}
      {instances.length > 1 ? (
        <Choice label="Instance" value={instance.value} onChange={instance.set} first="All instances">
          {instances.map((each) => ({ value: each, label: nameOfInstance(app, each) }))}
        </Choice>
      ) : null}
      {servers.length > 1 ? (
        <Choice label="Server" value={server.value} onChange={server.set} first="All servers">
          {servers.map((each) => ({ value: each.serverId, label: each.serverName }))}
        </Choice>
      ) : null}
    </div>
  );
}

function nameOfInstance(app: AppDetail, id: string): string {
  const known = app.instances.find((each) => each.id === id);
  const end = id.slice(-6);
  return known === undefined ? `…${end}` : `${known.process} …${end}, release ${known.releaseNumber}`;
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly first: string;
  readonly onChange: (value: string) => void;
  readonly children: readonly { readonly value: string; readonly label: string }[];
}

function Choice({ label, value, first, onChange, children }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      className="max-sm:flex-1 sm:max-w-44"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{first}</option>
      {children.map((each) => (
        <option key={each.value} value={each.value}>
          {each.label}
        </option>
      ))}
    </Select>
  );
}
