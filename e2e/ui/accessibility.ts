// Looks at one page with axe, by the rules of WCAG 2.2 AA, in both themes.
import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const SERIOUS = new Set(['serious', 'critical']);

export async function expectAccessible(page: Page, theme: 'light' | 'dark'): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze();
  const found = violations
    .filter((violation) => SERIOUS.has(violation.impact ?? ''))
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
  expect(found, `${new URL(page.url()).pathname}, ${theme}`).toEqual([]);
}
