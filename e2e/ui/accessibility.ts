// Checks one page with axe against WCAG 2.2 AA, in a theme or in both, and its width on a phone.
import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
export type Theme = 'light' | 'dark';

export const PHONE = { width: 390, height: 844 };
export const WIDE = { width: 1440, height: 900 };
const SERIOUS = new Set(['serious', 'critical']);

/** Returns serious findings, one line each: theme, rule and element. */
export async function findFaults(page: Page, theme: Theme): Promise<string[]> {
  const builder = new AxeBuilder({ page });
  // A theme changes nothing but colors.
  const { violations } = await (theme === 'light'
    ? builder.withTags(RULES)
    : builder.withRules('color-contrast')
  ).analyze();
  return violations
    .filter((violation) => SERIOUS.has(violation.impact ?? ''))
    .flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${theme}: ${id}: ${node.any[0]?.message ?? help}: ${node.html.slice(0, 160)}`),
    );
}

/** Returns how many pixels the page is wider than its window. */
export function findOverflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Checks the page as it stands, open dialogs included: no finding in either theme, and nothing wider than a phone. */
export async function checkAppearance(page: Page): Promise<void> {
  // Next.js sets the title of a page that a link opened after its contents.
  await expect(page).toHaveTitle(/./);
  const faults: string[] = [];
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    faults.push(...(await findFaults(page, theme)));
  }
  expect(faults).toEqual([]);
  await page.setViewportSize(PHONE);
  // Charts redraw once they know their width.
  await expect.poll(() => findOverflow(page), 'the page is wider than a phone').toBeLessThanOrEqual(0);
  await page.setViewportSize(WIDE);
}
