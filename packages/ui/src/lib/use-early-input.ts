// Early input: what a reader types into a field before the page's scripts run. React keeps it in the field but not in its
// state, so the next render would remove it. Not covered: text areas, which React resets as it starts.
import { type RefObject, useLayoutEffect, useRef } from 'react';

type Control = HTMLInputElement | HTMLSelectElement;

/** Returns a ref for the field, which then gets its early input as a change. */
export function useEarlyInput<Element extends Control>(): RefObject<Element | null> {
  const ref = useRef<Element>(null);
  useLayoutEffect(() => {
    // A browser also fills fields by itself when a page is opened again. That must change nothing: some fields save at once.
    if (navigator.userActivation?.hasBeenActive !== true) return;
    const field = ref.current;
    if (field instanceof HTMLSelectElement) replayChoice(field);
    else if (field instanceof HTMLInputElement) replayInput(field);
  }, []);
  return ref;
}

function replayInput(field: HTMLInputElement): void {
  const { type, value, defaultValue, checked, defaultChecked } = field;
  if (type === 'file' || type === 'hidden') return;
  if (type === 'checkbox' || type === 'radio') {
    // A radio button that another one cleared needs no change of its own.
    if (checked === defaultChecked || (type === 'radio' && !checked)) return;
    field.checked = defaultChecked;
    field.click();
    return;
  }
  if (value === defaultValue) return;
  // React remembers what it or a script sets, and ignores events without a difference to that.
  field.value = defaultValue;
  // Browsers clean values of some types, such as dates.
  if (field.value === value) return;
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field, value);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

function replayChoice(field: HTMLSelectElement): void {
  const options = [...field.options];
  if (field.multiple || !options.some((option) => option.defaultSelected)) return;
  if (options.some((option) => option.selected && !option.defaultSelected)) {
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }
}
