'use client';
// Field for addresses and address ranges, one a line.
import { Field, Textarea } from '@fairlead/ui/input';
import { useState } from 'react';
import type { FieldText } from './fields.tsx';

export interface RangesFieldProps extends FieldText {
  readonly placeholder?: string;
  readonly value: readonly string[];
  readonly onValue: (ranges: string[]) => void;
}

export function RangesField({ value, placeholder = '192.0.2.0/24', onValue, ...field }: RangesFieldProps) {
  // Keeps the text as typed: the next range goes into an empty line.
  const [text, setText] = useState(() => value.join('\n'));
  return (
    <Field {...field}>
      {(control) => (
        <Textarea
          {...control}
          mono
          rows={3}
          spellCheck={false}
          value={text}
          placeholder={placeholder}
          onChange={(event) => {
            setText(event.target.value);
            onValue(event.target.value.split(/[\s,]+/).filter((range) => range !== ''));
          }}
        />
      )}
    </Field>
  );
}
