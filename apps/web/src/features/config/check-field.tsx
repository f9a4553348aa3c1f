'use client';
// Health check of a process: a TCP port, an HTTP path, or a command.
import type { Settings } from '../../api/types.ts';
import { ChoiceField, CommandField, type FieldText, TextField } from '../../common/form/fields.tsx';

type Check = Settings['readinessCheck'];

export interface CheckFieldProps extends FieldText {
  readonly value: Check;
  /** Label for null. */
  readonly none: string;
  readonly onValue: (check: Check) => void;
}

export function CheckField({ value, none, onValue, label, hint, error }: CheckFieldProps) {
  return (
    <>
      <ChoiceField
        label={label}
        hint={hint}
        error={value === null || value.kind === 'tcp' ? error : undefined}
        value={value?.kind ?? 'none'}
        options={[
          { value: 'none', label: none },
          { value: 'tcp', label: 'TCP connection succeeds' },
          { value: 'http', label: 'HTTP path returns 2xx or 3xx' },
          { value: 'command', label: 'Command exits with 0' },
        ]}
        onValue={(kind) =>
          onValue(
            kind === 'none'
              ? null
              : kind === 'tcp'
                ? { kind }
                : kind === 'http'
                  ? { kind, path: '/' }
                  : { kind, command: [] },
          )
        }
      />
      {value?.kind === 'http' ? (
        <TextField label="Path" error={error} value={value.path} onValue={(path) => onValue({ kind: 'http', path })} />
      ) : null}
      {value?.kind === 'command' ? (
        <CommandField
          label="Command"
          error={error}
          value={value.command}
          placeholder="node check.js"
          onValue={(command) => onValue({ kind: 'command', command })}
        />
      ) : null}
    </>
  );
}
