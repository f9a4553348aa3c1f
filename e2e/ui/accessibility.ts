// Looks at one page with axe, by the rules of WCAG 2.2 AA, in both themes.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const SERIOUS = new Set(['serious', 'critical']);

/** Serious findings, one line each: where, which rule, on what. */
export async function findFaults(page: Page, where: string): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze();
  return violations
    .filter((violation) => SERIOUS.has(violation.impact ?? ''))
    .flatMap(({ id, help, nodes }) => nodes.map((node) => `${where}: ${id}: ${help}: ${node.html.slice(0, 160)}`));
}
