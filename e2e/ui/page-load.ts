// Observes how a page loads: layout shifts and the largest contentful paint, as Web Vitals define them.
import { type BrowserContext, expect, type Page } from '@playwright/test';

export interface Shift {
  readonly value: number;
  /** Start of the HTML of the element that moved most. */
  readonly what: string;
}

export interface PageLoad {
  readonly shifts: readonly Shift[];
  /** Absent if the browser painted nothing. */
  readonly lcpMs: number | undefined;
}

/** Records the loads of pages that the context opens from now on. */
export async function observeLoads(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const load: { shifts: { value: number; what: string }[]; lcpMs?: number } = { shifts: [] };
    Object.assign(window, { load });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & {
        value: number;
        hadRecentInput: boolean;
        sources: { node: Node | null }[];
      })[]) {
        if (entry.hadRecentInput) continue;
        const [source] = entry.sources;
        const what = source?.node instanceof Element ? source.node.outerHTML.slice(0, 160) : '';
        load.shifts.push({ value: entry.value, what });
      }
    }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => {
      for (const { startTime } of list.getEntries()) load.lcpMs = startTime;
    }).observe({ type: 'largest-contentful-paint', buffered: true });
  });
}

/** Waits until the page shows its data and its live stream has answered. */
export async function waitUntilLoaded(page: Page, timeoutMs = 15_000): Promise<void> {
  const shown = expect.configure({ timeout: timeoutMs });
  await shown(page.getByRole('heading', { level: 1 })).toBeVisible();
  await shown(page.locator('[data-connection="connecting"]')).toHaveCount(0);
  await shown(page.getByRole('status', { name: 'Loading' })).toHaveCount(0);
  await shown(page.locator('.animate-shimmer')).toHaveCount(0);
}

/** Returns what was recorded since the page in a context of `observeLoads` was opened. */
export function readLoad(page: Page): Promise<PageLoad> {
  return page.evaluate(() => (window as unknown as { load: PageLoad }).load);
}

/** Returns how far things moved altogether. */
export function totalShift({ shifts }: PageLoad): number {
  return shifts.reduce((sum, { value }) => sum + value, 0);
}
