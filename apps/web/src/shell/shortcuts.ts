// Maps key presses to actions: `/` searches, `g` then a letter navigates, `?` shows help. Pure.

export interface KeyPress {
  readonly key: string;
  readonly command: boolean;
  readonly alt: boolean;
  /** True if the focus is in a field, where letters are text. */
  readonly inField: boolean;
}

export type ShortcutAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'search' }
  | { readonly kind: 'palette' }
  | { readonly kind: 'help' }
  | { readonly kind: 'go'; readonly key: string };

export interface ShortcutState {
  /** Time at which `g` was pressed; null if it was not, or another key followed. */
  readonly goSince: number | null;
}

export const idle: ShortcutState = { goSince: null };
const GO_WITHIN_MS = 1200;

export function pressKey(
  state: ShortcutState,
  press: KeyPress,
  now: number,
): { readonly state: ShortcutState; readonly action: ShortcutAction } {
  const none = { state: idle, action: { kind: 'none' } } as const;
  if (press.command && press.key.toLowerCase() === 'k') return { state: idle, action: { kind: 'palette' } };
  if (press.command || press.alt || press.inField) return none;
  if (state.goSince !== null && now - state.goSince <= GO_WITHIN_MS && /^[a-z]$/.test(press.key)) {
    return { state: idle, action: { kind: 'go', key: press.key } };
  }
  if (press.key === 'g') return { state: { goSince: now }, action: { kind: 'none' } };
  if (press.key === '/') return { state: idle, action: { kind: 'search' } };
  if (press.key === '?') return { state: idle, action: { kind: 'help' } };
  return none;
}
