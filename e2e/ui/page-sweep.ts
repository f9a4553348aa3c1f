// Visits pages in each width and theme, and records accessibility, errors and how they load.
import type { Browser, Page } from '@playwright/test';
import { findFaults, findOverflow, PHONE, type Theme, WIDE } from './accessibility.ts';
import { observeLoads, readLoad, totalShift, waitUntilLoaded } from './page-load.ts';
import type { DashboardPage } from './pages.ts';
import { withoutSession } from './signed-in.ts';
import type { Visit } from './sweep-report.ts';

export interface Look {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly theme: Theme;
}

export const LOOKS: readonly Look[] = [WIDE, PHONE].flatMap((viewport) =>
  (['light', 'dark'] as const).map((theme) => ({ viewport, theme })),
);

export interface SweepOptions {
  readonly browser: Browser;
  readonly baseUrl: string;
  /** Cookies of the session, as `openSession` returns them. */
  readonly session: string;
  readonly look: Look;
  /** Prefix of the names of visits. */
  readonly name: string;
  readonly listPages: (page: Page) => Promise<readonly DashboardPage[]>;
  readonly onVisit: (visit: Visit) => void;
}

/** A page with much data may take its time on a busy machine. */
const LOAD_TIMEOUT_MS = 30_000;

/** Visits each page once, in one browser context. */
export async function sweepPages(options: SweepOptions): Promise<void> {
  const { browser, baseUrl, look, name, onVisit } = options;
  const context = await browser.newContext({
    baseURL: baseUrl,
    viewport: look.viewport,
    colorScheme: look.theme,
    // A fading figure has too little contrast for axe.
    reducedMotion: 'reduce',
  });
  await context.addCookies(
    options.session.split('; ').map((pair) => {
      const at = pair.indexOf('=');
      return { name: pair.slice(0, at), value: pair.slice(at + 1), url: baseUrl };
    }),
  );
  await observeLoads(context);
  const page = await context.newPage();
  const pages = await options.listPages(page);
  const watch = watchErrors(page);
  for (const each of pages) {
    const open = async () =>
      onVisit(await visit(page, each, { name: `${name} ${each.path}`, theme: look.theme, watch }));
    await (each.isSignedOut ? withoutSession(context, open) : open());
  }
  await context.close();
}

interface VisitOptions {
  readonly name: string;
  readonly theme: Theme;
  readonly watch: ErrorWatch;
}

async function visit(page: Page, { path, status = 200 }: DashboardPage, options: VisitOptions): Promise<Visit> {
  const { name, theme, watch } = options;
  try {
    // Ends what the page before still does, so that its errors are not counted here.
    await page.goto('about:blank');
    watch.expect({ path, status });
    const response = await page.goto(path);
    if (response?.status() !== status) throw new Error(`its document has the status ${response?.status()}`);
    await waitUntilLoaded(page, LOAD_TIMEOUT_MS);
    const load = await readLoad(page);
    const violations = await findFaults(page, theme);
    const overflow = await findOverflow(page);
    const errors = watch.take();
    if (overflow > 0) errors.push(`${overflow} px wider than the window`);
    if (load.lcpMs === undefined) errors.push('nothing was painted');
    const moved = load.shifts.map(({ what }) => what);
    return { name, violations, errors, shift: totalShift(load), moved, lcpMs: load.lcpMs };
  } catch (error) {
    const [reason = ''] = String(error).split('\n');
    return { name, violations: [], errors: [...watch.take(), reason], shift: 0, moved: [], lcpMs: undefined };
  }
}

interface ErrorWatch {
  /** Sets the next document and its status: the console reports one of 400 and more as an error. */
  expect(document: Required<Pick<DashboardPage, 'path' | 'status'>>): void;
  /** Returns the errors since the last call. */
  take(): string[];
}

function watchErrors(page: Page): ErrorWatch {
  const errors: string[] = [];
  let expected = { path: '', status: 200 };
  page.on('pageerror', (error) => errors.push(`script: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    const { url } = message.location();
    const isExpected = url.endsWith(expected.path) && message.text().includes(`status of ${expected.status} `);
    if (!isExpected) errors.push(`console: ${message.text()} (${url})`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // A navigation ends the requests of the page before it.
    if (reason !== 'net::ERR_ABORTED') errors.push(`request: ${reason} (${request.url()})`);
  });
  return {
    expect(document) {
      errors.splice(0);
      expected = document;
    },
    take: () => errors.splice(0),
  };
}
