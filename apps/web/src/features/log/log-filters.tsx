'use client';
import { Button } from '@fairlead/ui/button';
// Filters of an app's log, stored in the URL so that a search can be linked.
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Select } from '@fairlead/ui/input';
import type { FieldChoice, LogField } from '@fairlead/ui/lib/log-lines';
import { SearchInput } from '@fairlead/ui/search-input';
import { X } from 'lucide-react';
import { useMemo } from 'react';
import type { AppDetail } from '../../api/types.ts';
import { placementOf } from '../../common/app/app-placement.ts';
import { useUrlFilter, useUrlSearch } from '../../common/page/use-url-state.ts';
import { formatFields, parseFields } from './log-lines.ts';

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

/** Two beside each other on a phone. */
const CONTROL = 'max-sm:basis-[calc(50%-0.25rem)] sm:max-w-44';

export interface LogFilterValues {
  readonly text: string;
  readonly regex: boolean;
  readonly level: Level | null;
  readonly process: string;
  readonly instanceId: string;
  readonly serverId: string;
  readonly fields: readonly LogField[];
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
    fields: useUrlFilter('fields'),
  };
}

export function useLogFilters(): LogFilterValues {
  const text = useUrlFilter('text');
  const { regex, level, process, instance, server, span, fields } = useFields();
  return {
    text: text.value,
    regex: regex.value !== '',
    level: levels.find((each) => each === level.value) ?? null,
    process: process.value,
    instanceId: instance.value,
    serverId: server.value,
    fields: useMemo(() => parseFields(fields.value), [fields.value]),
    lengthMs: (spans.find((each) => each.value === span.value) ?? spans[1]).lengthMs,
  };
}

/** Adds a field to the filter, or removes it. */
export function useToggleField(): (field: LogField) => void {
  const { fields } = useFields();
  return ({ name, value }) => {
    const known = parseFields(fields.value);
    const without = known.filter((each) => each.name !== name || each.value !== value);
    fields.set(formatFields(without.length < known.length ? without : [...known, { name, value }]));
  };
}

export interface LogFiltersProps {
  readonly app: AppDetail;
  readonly choices: readonly FieldChoice[];
}

export function LogFilters({ app, choices }: LogFiltersProps) {
  const search = useUrlSearch('text');
  const { regex, level, process, instance, server, span } = useFields();
  const { fields } = useLogFilters();
  const toggleField = useToggleField();
  const { formatInteger } = useFormats();
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
        className="h-9 px-1 max-sm:basis-[calc(50%-0.25rem)]"
        checked={regex.value !== ''}
        onChange={(event) => regex.set(event.target.checked ? '1' : '')}
      />
      <Choice label="Level" value={level.value} onChange={level.set} first="All levels">
        {levels.map((each) => ({ value: each, label: levelWord[each] }))}
      </Choice>
      <Select
        aria-label="Time"
        className={CONTROL}
        value={span.value}
        onChange={(event) => span.set(event.target.value)}
      >
        {spans.map((each) => (
          <option key={each.value} value={each.value}>
            {each.label}
          </option>
        ))}
      </Select>
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
      {choices.length > 0 ? (
        <Select
          aria-label="Field"
          className={CONTROL}
          value=""
          onChange={(event) => parseFields(event.target.value).forEach(toggleField)}
        >
          <option value="">Filter by field</option>
          {choices.map(({ name, values }) => (
            <optgroup key={name} label={name}>
              {values.map(({ value, count }) => (
                <option key={value} value={formatFields([{ name, value }])}>
                  {`${value} (${formatInteger(count)})`}
                </option>
              ))}
            </optgroup>
          ))}
        </Select>
      ) : null}
      {fields.map((field) => (
        <Button
          key={`${field.name} ${field.value}`}
          size="small"
          title="Remove this filter"
          onClick={() => toggleField(field)}
          className="max-w-60"
        >
          <span className="min-w-0 truncate font-mono">
            {field.name}={field.value}
          </span>
          <X size={14} aria-hidden="true" />
        </Button>
      ))}
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
    <Select aria-label={label} className={CONTROL} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{first}</option>
      {children.map((each) => (
        <option key={each.value} value={each.value}>
          {each.label}
        </option>
      ))}
    </Select>
  );
}
