// Texts of updates: a changelog in the format of Keep a Changelog, and a command to copy.
import { CopyButton } from '@fairlead/ui/copy-button';

export function Changelog({ text }: { readonly text: string }) {
  return (
    // Scrolls by keyboard too.
    <section
      aria-label="Changelog"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must take the focus
      tabIndex={0}
      className="max-h-72 overflow-y-auto rounded-control border border-line px-4 py-3 text-sm focus-visible:outline-2 focus-visible:outline-accent-text"
    >
      {sectionsOf(text).map(({ title, items }) => (
        <div key={title} className="mb-3 last:mb-0">
          {title === '' ? null : <h3 className="font-medium">{title}</h3>}
          <ul className="mt-1 flex list-disc flex-col gap-1 pl-5 text-ink-soft">
            {items.map((item) => (
              <li key={item} className="text-pretty break-words">
                {item}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

export function CommandText({ children }: { readonly children: string }) {
  return (
    <div className="flex items-center gap-2 rounded-control border border-line px-3 py-2">
      <code className="min-w-0 flex-1 break-all font-mono text-sm">{children}</code>
      <CopyButton value={children} label="Copy command" />
    </div>
  );
}

interface Section {
  readonly title: string;
  readonly items: readonly string[];
}

/** Reads headings and list items, and shows any other line as an item. */
export function sectionsOf(text: string): Section[] {
  const sections: { title: string; items: string[] }[] = [];
  const current = () => sections.at(-1) ?? sections[sections.push({ title: '', items: [] }) - 1];
  for (const line of text.split('\n')) {
    const heading = /^#+ (.+)/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ title: heading, items: [] });
    else if (line.startsWith('- ')) current()?.items.push(plain(line.slice(2)));
    else if (line.trim() !== '') continueLast(current()?.items, plain(line.trim()));
  }
  return sections;
}

/** Appends a line that continues an item. */
function continueLast(items: string[] | undefined, line: string): void {
  if (items === undefined) return;
  const last = items.pop();
  items.push(last === undefined ? line : `${last} ${line}`);
}

/** Removes the marks of Markdown. */
function plain(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/[`*]{1,2}([^`*]+)[`*]{1,2}/g, '$1');
}
