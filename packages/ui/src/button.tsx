// Buttons, and links that look like buttons. At most one accent button per view: the main action.
import type { ComponentProps, ReactNode } from 'react';
import { cn } from './lib/class-names.ts';
import { Spinner } from './spinner.tsx';

export type ButtonVariant = 'accent' | 'plain' | 'ghost' | 'danger' | 'danger-outline';
export type ButtonSize = 'small' | 'medium' | 'large';

const VARIANT: Record<ButtonVariant, string> = {
  accent: 'bg-accent text-accent-ink hover:bg-accent-hover active:bg-accent-hover font-medium',
  plain: 'bg-surface text-ink border border-line-strong hover:bg-sunken active:bg-pressed font-medium',
  ghost: 'text-ink-soft hover:text-ink hover:bg-hover active:bg-pressed',
  'danger-outline': 'bg-surface text-bad-text border border-line-strong hover:bg-bad-wash font-medium',
  danger: 'bg-bad text-bad-ink hover:opacity-90 font-medium',
};

const SIZE: Record<ButtonSize, string> = {
  small: 'h-7 px-2.5 text-sm gap-1.5',
  medium: 'h-8 px-3 text-base gap-2',
  large: 'h-10 px-4 text-base gap-2',
};

/** Returns the button's classes, for links of any router. */
export function buttonClass(variant: ButtonVariant = 'plain', size: ButtonSize = 'medium', extra?: string): string {
  return cn(
    'inline-flex shrink-0 select-none items-center justify-center whitespace-nowrap rounded-control transition-colors duration-120',
    'disabled:cursor-not-allowed disabled:opacity-50 aria-disabled:cursor-not-allowed aria-disabled:opacity-50',
    VARIANT[variant],
    SIZE[size],
    extra,
  );
}

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'type'> {
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
  /** True while the action runs: the button keeps its width, shows a spinner and ignores presses. */
  readonly pending?: boolean;
  readonly icon?: ReactNode;
}

/** Button that sends no form; `SubmitButton` does. */
export function Button(props: ButtonProps) {
  return <ButtonOfType {...props} type="button" />;
}

/** Serves `Button` and `SubmitButton` only. */
export function ButtonOfType({
  variant = 'plain',
  size = 'medium',
  pending = false,
  icon,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps & Pick<ComponentProps<'button'>, 'type'>) {
  return (
    <button
      {...rest}
      disabled={disabled === true || pending}
      aria-busy={pending || undefined}
      className={buttonClass(variant, size, className)}
    >
      {pending ? <Spinner /> : icon}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'aria-label'> {
  readonly label: string;
  readonly size?: 'small' | 'medium';
}

/** Button with an icon only: `label` is its accessible name and its tooltip. */
export function IconButton({ label, size = 'medium', className, children, type = 'button', ...rest }: IconButtonProps) {
  return (
    <button
      title={label}
      {...rest}
      type={type}
      aria-label={label}
      className={cn(
        'inline-flex shrink-0 items-center justify-center rounded-control text-ink-faint transition-colors duration-120',
        'hover:bg-hover hover:text-ink active:bg-pressed disabled:cursor-not-allowed disabled:opacity-40',
        size === 'small' ? 'size-7' : 'size-8',
        className,
      )}
    >
      {children}
    </button>
  );
}
