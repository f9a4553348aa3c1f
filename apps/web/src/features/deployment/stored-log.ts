// Reads the whole stored log of a deployment, page by page.
import type { Outputs } from '../../api/types.ts';

/** Lines of one page. At most 5,000, see `deployment.log`. */
export const PAGE_LINES = 5000;

type LogPage = Outputs['deployment']['log'];

export type StoredLog = Pick<LogPage, 'lines' | 'nextLine' | 'complete'>;

/** Returns the lines in order. `readPage` gets the number of the first line of a page, from 0. */
export async function readStoredLog(readPage: (fromLine: number) => Promise<LogPage>): Promise<StoredLog> {
  const lines: LogPage['lines'] = [];
  for (let fromLine = 0; ; ) {
    const page = await readPage(fromLine);
    lines.push(...page.lines);
    if (page.nextLine >= page.totalLines || page.nextLine <= fromLine) {
      return { lines, nextLine: page.nextLine, complete: page.complete };
    }
    fromLine = page.nextLine;
  }
}
