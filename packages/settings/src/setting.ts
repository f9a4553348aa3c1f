// One row of the table of settings.
import type { z } from 'zod';
import type { Form } from './forms.ts';

/** Processes of the control plane; `start` is the supervisor of `npm start`. */
export type ProcessName = 'web' | 'gateway' | 'worker' | 'start';

interface Row<T extends z.ZodType, P extends ProcessName> {
  /** Key in the settings file, with its table: `mail.smtp_url`. */
  readonly key: string;
  readonly form: Form<T>;
  /** Documentation in one line, for docs/settings.md. */
  readonly about: string;
  /** Default in words, for a default that is not one fixed value. */
  readonly defaultWords?: string;
  /** True for values that must not be shown. Only these processes get them. */
  readonly isSecret?: boolean;
  /** True for a path of a file that holds a secret and must exist. */
  readonly isSecretFile?: boolean;
  readonly processes: readonly P[];
  /** Variable of an alternative: a source that sets this row hides the alternative's value from sources below it. */
  readonly insteadOf?: string;
  /** Variable of a setting that this one can't do without. */
  readonly needs?: string;
}

/** `type` reads the text of an environment variable. */
export interface Setting<T extends z.ZodType = z.ZodType, P extends ProcessName = ProcessName>
  extends Row<z.ZodType, P> {
  readonly type: T;
}

/** Makes a setting with a default, which every process has without being given it. */
export function withDefault<T extends z.ZodType, P extends ProcessName>(
  row: Row<T, P>,
  value: z.util.NoUndefined<z.output<T>>,
): Setting<z.ZodDefault<T>, P> {
  const words = Array.isArray(value) ? 'none' : `\`${String(value)}\``;
  return { defaultWords: value === '' ? 'none' : words, ...row, type: row.form.type.default(value) };
}

/** Makes a setting that may be absent. */
export function optional<T extends z.ZodType, P extends ProcessName>(row: Row<T, P>): Setting<z.ZodOptional<T>, P> {
  return { defaultWords: 'none', ...row, type: row.form.type.optional() };
}

/** Makes a setting that `npm start` always gives to the processes, and users may choose. */
export function required<T extends z.ZodType, P extends ProcessName>(
  row: Row<T, P> & { readonly defaultWords: string },
): Setting<T, P> {
  return { ...row, type: row.form.type };
}
