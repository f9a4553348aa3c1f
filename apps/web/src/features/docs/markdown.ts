// Parses the Markdown of `docs/` and CHANGELOG.md: headings, paragraphs, flat lists, tables, code blocks, quotes. Pure.

export type Inline =
  | { readonly kind: 'text' | 'code' | 'strong' | 'em'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly href: string };

export type Block =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3 | 4; readonly id: string; readonly text: string }
  | { readonly kind: 'paragraph' | 'quote'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

const FENCE = /^\s*```/;
const HEADING = /^(#{1,4}) (.+)$/;
const ITEM = /^([-*]|\d+\.) (.+)$/;

export function parseMarkdown(text: string): Block[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const ids = new Map<string, number>();
  const blocks: Block[] = [];
  let at = 0;
  const takeWhile = (fits: (line: string) => boolean): string[] => {
    const taken: string[] = [];
    for (let line = lines[at]; line !== undefined && fits(line); at += 1, line = lines[at]) taken.push(line);
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const heading = HEADING.exec(line);
    if (FENCE.test(line)) {
      at += 1;
      const code = takeWhile((each) => !FENCE.test(each));
      at += 1;
      blocks.push({ kind: 'code', text: code.join('\n') });
    } else if (heading !== null) {
      at += 1;
      const [, marks = '#', title = ''] = heading;
      const level = marks.length as 1 | 2 | 3 | 4;
      blocks.push({ kind: 'heading', level, id: uniqueId(ids, slugOf(title)), text: plainText(title) });
    } else if (line.startsWith('|')) {
      const [head = [], , ...rows] = takeWhile((each) => each.startsWith('|')).map(cellsOf);
      blocks.push({ kind: 'table', head, rows });
    } else if (ITEM.test(line)) {
      const isOrdered = /^\d/.test(line);
      const items: string[] = [];
      // An item goes on in indented lines, also after an empty one.
      for (const each of takeWhile((next) => ITEM.test(next) || /^\s+\S/.test(next))) {
        const item = ITEM.exec(each)?.[2];
        if (item !== undefined) items.push(item);
        else items.push(`${items.pop() ?? ''} ${each.trim()}`);
      }
      blocks.push({ kind: 'list', isOrdered, items });
    } else if (line.startsWith('>')) {
      const quoted = takeWhile((each) => each.startsWith('>'));
      blocks.push({ kind: 'quote', text: quoted.map((each) => each.replace(/^>\s?/, '')).join(' ') });
    } else if (line.trim() === '') at += 1;
    else blocks.push({ kind: 'paragraph', text: takeWhile(isProse).join(' ') });
  }
  return blocks;
}

function isProse(line: string): boolean {
  return line.trim() !== '' && ![FENCE, HEADING, ITEM].some((mark) => mark.test(line)) && !/^[|>]/.test(line);
}

/** Splits a row at its bars, except at escaped ones and in code. */
function cellsOf(row: string): string[] {
  const inner = row.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
}

const INLINE =
  /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|!?\[((?:`[^`]*`|[^\]`])+)\]\(([^)\s]+)\)|<(https?:\/\/[^>]+)>/g;

export function parseInline(text: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) parts.push({ kind: 'text', text: text.slice(end, match.index) });
    const [whole, code, strong, em, label, href, url] = match;
    if (code !== undefined) parts.push({ kind: 'code', text: code });
    else if (strong !== undefined) parts.push({ kind: 'strong', text: plainText(strong) });
    else if (em !== undefined) parts.push({ kind: 'em', text: plainText(em) });
    else if (url !== undefined) parts.push({ kind: 'link', text: url, href: url });
    else parts.push({ kind: 'link', text: plainText(label ?? ''), href: href ?? '' });
    end = match.index + whole.length;
  }
  if (end < text.length) parts.push({ kind: 'text', text: text.slice(end) });
  return parts;
}

function plainText(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
}

/** Returns the anchor that git hosts give a heading. */
function slugOf(title: string): string {
  return plainText(title)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

function uniqueId(ids: Map<string, number>, id: string): string {
  const count = ids.get(id) ?? 0;
  ids.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}
