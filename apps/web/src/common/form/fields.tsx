'use client';
// Form fields in readable units: commands as one line, times in seconds, memory in MiB, CPU in cores.
import { commandLine, commandOf } from '@fairlead/core/kernel/command';
import { Field, Input, Select } from '@fairlead/ui/input';
import { cn } from '@fairlead/ui/lib/class-names';
import { type ReactNode, useState } from 'react';

export interface FieldText {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly className?: string;
}

export interface CommandFieldProps extends FieldText {
  readonly value: readonly string[];
  readonly placeholder?: string;
  readonly onValue: (words: string[]) => void;
}

export function CommandField({ value, placeholder, onValue, ...field }: CommandFieldProps) {
  // Keeps the text as typed: a command that is formatted again would move under the reader's cursor.
  const [text, setText] = useState(() => commandLine(value));
  return (
    <Field {...field}>
      {(control) => (
        <Input
          {...control}
          mono
          spellCheck={false}
          value={text}
          placeholder={placeholder}
          onChange={(event) => {
            setText(event.target.value);
            onValue(commandOf(event.target.value));
          }}
        />
      )}
    </Field>
  );
}

export interface TextFieldProps extends FieldText {
  readonly value: string;
  readonly placeholder?: string;
  /** True for words in the font of the page, instead of code. */
  readonly isProse?: boolean;
  readonly onValue: (text: string) => void;
  readonly onBlur?: () => void;
}

export function TextField({ value, placeholder, isProse = false, onValue, onBlur, ...field }: TextFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <Input
          {...control}
          mono={!isProse}
          spellCheck={false}
          value={value}
          placeholder={placeholder}
          onChange={(event) => onValue(event.target.value)}
          onBlur={onBlur}
        />
      )}
    </Field>
  );
}

const MEBIBYTE = 1024 * 1024;
/** Stored units in one displayed unit. */
const UNITS = {
  number: 1,
  seconds: 1000,
  minutes: 60_000,
  wholeMinutes: 1,
  mebibytes: MEBIBYTE,
  cores: 1000,
  percent: 10,
} as const;
const SIGN: Record<keyof typeof UNITS, string> = {
  number: '',
  seconds: 's',
  minutes: 'min',
  wholeMinutes: 'min',
  mebibytes: 'MiB',
  cores: 'cores',
  percent: '%',
};

export interface NumberFieldProps extends FieldText {
  readonly value: number;
  readonly unit?: keyof typeof UNITS;
  readonly min?: number;
  /** Text for zero; the field is then empty. */
  readonly zero?: string;
  /** Default in stored units, shown as the placeholder of the empty field. */
  readonly standard?: number;
  readonly onValue: (value: number) => void;
}

export function NumberField({ value, unit = 'number', min = 0, zero, standard, onValue, ...field }: NumberFieldProps) {
  const factor = UNITS[unit];
  const isEmptyAt = standard ?? (zero === undefined ? undefined : 0);
  const [text, setText] = useState(() => (value === isEmptyAt ? '' : String(value / factor)));
  return (
    <Field {...field}>
      {(control) => (
        <span className="relative">
          <Input
            {...control}
            type="number"
            inputMode="decimal"
            min={min}
            step={unit === 'number' ? 1 : 'any'}
            className={cn('tabular', SIGN[unit] !== '' && 'pr-14')}
            value={text}
            placeholder={standard === undefined ? zero : String(standard / factor)}
            onChange={(event) => {
              setText(event.target.value);
              const number = Number(event.target.value);
              if (event.target.value === '') onValue(isEmptyAt ?? 0);
              else if (Number.isFinite(number)) onValue(Math.round(number * factor));
            }}
          />
          <span
            aria-hidden="true"
            className="pointer-events-none absolute top-1/2 right-3 -translate-y-1/2 text-ink-faint text-sm"
          >
            {SIGN[unit]}
          </span>
        </span>
      )}
    </Field>
  );
}

export interface ChoiceFieldProps<Value extends string> extends FieldText {
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly disabled?: boolean }[];
  readonly onValue: (value: Value) => void;
}

export function ChoiceField<Value extends string>({ value, options, onValue, ...field }: ChoiceFieldProps<Value>) {
  return (
    <Field {...field}>
      {(control) => (
        <Select
          {...control}
          value={value}
          onChange={(event) => {
            const chosen = options.find((option) => option.value === event.target.value);
            if (chosen !== undefined) onValue(chosen.value);
          }}
        >
          {options.map((option) => (
            <option
              key={option.value}
              value={option.value}
              disabled={option.disabled === true && option.value !== value}
            >
              {option.label}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}
