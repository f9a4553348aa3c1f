// Blocks of the Markdown of `docs/` and CHANGELOG.md, as the dashboard draws them. Pure.
import { lexer, type MarkedToken, type Token } from 'marked';

export type Inline =
  | { readonly kind: 'text' | 'code' | 'strong' | 'em'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly href: string };

export type HeadingLevel = 1 | 2 | 3 | 4 | 5 | 6;

export type Block =
  | { readonly kind: 'heading'; readonly level: HeadingLevel; readonly id: string; readonly text: string }
  | { readonly kind: 'paragraph'; readonly parts: readonly Inline[] }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'code'; readonly text: string }
  | {
      readonly kind: 'table';
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    };

export function parseMarkdown(text: string): Block[] {
  const ids = new Map<string, number>();
  const blocksOf = (tokens: readonly Token[]): Block[] => known(tokens).flatMap((token) => blockOf(token) ?? []);
  const blockOf = (token: MarkedToken): Block | null => {
    switch (token.type) {
      case 'heading': {
        const title = textOf(token.tokens);
        return { kind: 'heading', level: token.depth as HeadingLevel, id: uniqueId(ids, slugOf(title)), text: title };
      }
      case 'paragraph':
      case 'text':
        return { kind: 'paragraph', parts: partsOf(token.tokens ?? [token]) };
      case 'blockquote':
        return { kind: 'quote', blocks: blocksOf(token.tokens) };
      case 'list':
        return { kind: 'list', isOrdered: token.ordered, items: token.items.map((item) => blocksOf(item.tokens)) };
      case 'code':
        return { kind: 'code', text: token.text };
      case 'table': {
        const cellsOf = (cells: typeof token.header) => cells.map((cell) => partsOf(cell.tokens));
        return { kind: 'table', head: cellsOf(token.header), rows: token.rows.map(cellsOf) };
      }
      case 'html':
        return { kind: 'paragraph', parts: [{ kind: 'text', text: token.text.trim() }] };
      default:
        return null;
    }
  };
  return blocksOf(lexer(text));
}

/** No extension of the parser is in use, so it returns no other tokens. */
function known(tokens: readonly Token[]): readonly MarkedToken[] {
  return tokens as readonly MarkedToken[];
}

function partsOf(tokens: readonly Token[]): Inline[] {
  const parts: Inline[] = [];
  for (const token of known(tokens)) {
    const part = partOf(token);
    const last = parts.at(-1);
    // An escaped character is a token of its own.
    if (part.kind === 'text' && last?.kind === 'text')
      parts.splice(-1, 1, { kind: 'text', text: last.text + part.text });
    else parts.push(part);
  }
  return parts;
}

function partOf(token: MarkedToken): Inline {
  const text = textOf([token]);
  switch (token.type) {
    case 'codespan':
      return { kind: 'code', text };
    case 'strong':
    case 'em':
      return { kind: token.type, text };
    case 'link':
    case 'image':
      return { kind: 'link', text, href: token.href };
    default:
      return { kind: 'text', text };
  }
}

/** Returns the text without its marks. */
function textOf(tokens: readonly Token[]): string {
  return known(tokens)
    .map((token) => {
      if ('tokens' in token && token.tokens !== undefined) return textOf(token.tokens);
      return 'text' in token ? token.text.replaceAll('\n', ' ') : ' ';
    })
    .join('');
}

/** Returns the anchor that git hosts give a heading. */
function slugOf(title: string): string {
  return title
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
