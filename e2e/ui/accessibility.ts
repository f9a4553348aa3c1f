// Checks one page with axe against WCAG 2.2 AA, in both themes.
import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };
const SERIOUS = new Set(['serious', 'critical']);

/** Returns serious findings, one line each: page, rule and element. */
export async function findFaults(page: Page, where: string): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze();
  return violations
    .filter((violation) => SERIOUS.has(violation.impact ?? ''))
    .flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${where}: ${id}: ${node.any[0]?.message ?? help}: ${node.html.slice(0, 160)}`),
    );
}

/** Checks the page as it stands, open dialogs included: no finding in either theme, and nothing wider than a phone. */
export async function checkAppearance(page: Page): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    expect(await findFaults(page, theme)).toEqual([]);
  }
  await page.setViewportSize(PHONE);
  const over = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await expect.poll(over).toBeLessThanOrEqual(0);
  await page.setViewportSize(WIDE);
}
