// Chooses values of the filters above a list.
import type { Page } from '@playwright/test';

export async function chooseFilter(page: Page, filter: string, option: string): Promise<void> {
  await page
    .getByRole('button', { name: new RegExp(`^${filter}: `) })
    .filter({ visible: true })
    .click();
  await page.getByRole('option', { name: option, exact: true }).click();
}
