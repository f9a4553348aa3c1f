// Finds and focuses fields on a page. Opens the folded sections around them.

/** Focuses a control in the middle of the window. */
export function focusControl(control: HTMLElement): void {
  for (let fold = control.closest('details'); fold !== null; fold = fold.parentElement?.closest('details') ?? null) {
    fold.open = true;
  }
  control.scrollIntoView({ block: 'center' });
  control.focus({ preventScroll: true });
}

/** Returns the invalid controls and lists of a form, first to last. */
export function invalidControls(form: HTMLElement): HTMLElement[] {
  return [...form.querySelectorAll<HTMLElement>('[aria-invalid="true"], [data-invalid]')];
}

/** Returns the label of a control as a person reads it; the title of its card for a control without one. */
export function labelOfControl(control: HTMLElement): string {
  const labels = 'labels' in control && control.labels instanceof NodeList ? [...control.labels] : [];
  const label = labels[0]?.textContent ?? control.closest('section')?.querySelector('h2, h3')?.textContent ?? '';
  return label.trim();
}

/** Returns the control with a label or below a heading of this text; null if the page has none. */
export function findControl(root: HTMLElement, isWanted: (text: string) => boolean): HTMLElement | null {
  for (const named of root.querySelectorAll<HTMLElement>('label, h2, h3')) {
    if (!isWanted((named.textContent ?? '').trim())) continue;
    if (named instanceof HTMLLabelElement) return named.control;
    const group = named.closest<HTMLElement>('fieldset, section');
    return group?.querySelector<HTMLElement>('input, select, textarea, button, a[href]') ?? null;
  }
  return null;
}
