import { expect, test } from 'vitest';
import { coverDialogs } from './dialog-stack.ts';

function newDialog() {
  return {
    isCovered: false,
    toggleAttribute(_name: string, isOn: boolean) {
      this.isCovered = isOn;
    },
  };
}

test('only the last dialog is visible, and the one below comes back', () => {
  const [form, confirmation] = [newDialog(), newDialog()];
  const closeForm = coverDialogs(form);
  const closeConfirmation = coverDialogs(confirmation);
  expect([form.isCovered, confirmation.isCovered]).toEqual([true, false]);
  closeConfirmation();
  closeConfirmation();
  expect(form.isCovered).toBe(false);
  closeForm();
});

test('a dialog that closes below another one leaves that visible', () => {
  const [form, confirmation] = [newDialog(), newDialog()];
  const closeForm = coverDialogs(form);
  const closeConfirmation = coverDialogs(confirmation);
  closeForm();
  expect(confirmation.isCovered).toBe(false);
  closeConfirmation();
});
