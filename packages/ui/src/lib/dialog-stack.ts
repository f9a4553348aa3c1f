// Open modal dialogs of the page, in order. Only the last one is visible: a dialog that asks for a confirmation takes the
// place of the one that needs it, which comes back as it was.

export interface DialogLike {
  toggleAttribute(name: string, isOn: boolean): unknown;
}

const stack: DialogLike[] = [];

/** Hides the dialogs below; the returned function ends that, and may be called twice. */
export function coverDialogs(dialog: DialogLike): () => void {
  stack.push(dialog);
  mark();
  return () => {
    const at = stack.indexOf(dialog);
    if (at < 0) return;
    stack.splice(at, 1);
    dialog.toggleAttribute('data-covered', false);
    mark();
  };
}

function mark(): void {
  for (const each of stack) each.toggleAttribute('data-covered', each !== stack.at(-1));
}
