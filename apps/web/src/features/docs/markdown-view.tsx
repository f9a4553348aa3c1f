// Draws parsed Markdown.
import type { ReactNode } from 'react';
import { hrefOfDoc } from './doc-link.ts';
import type { Block, Inline } from './markdown.ts';

const HEADING = {
  1: 'text-2xl font-semibold tracking-[-0.02em]',
  2: 'mt-10 border-line border-t pt-6 text-xl font-semibold',
  3: 'mt-7 text-lg font-semibold',
  4: 'mt-5 font-semibold',
  5: 'mt-5 font-medium',
  6: 'mt-5 font-medium',
} as const;

export function MarkdownView({ blocks }: { readonly blocks: readonly Block[] }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the text of a page never changes, and two blocks may be alike
  return blocks.map((block, index) => <BlockView key={index} block={block} />);
}

function BlockView({ block }: { readonly block: Block }): ReactNode {
  switch (block.kind) {
    case 'heading': {
      const Heading = `h${block.level}` as const;
      return (
        <Heading id={block.id} className={`scroll-mt-4 ${HEADING[block.level]}`}>
          {block.text}
        </Heading>
      );
    }
    case 'paragraph':
      return (
        <p className="mt-3 text-pretty text-ink-soft leading-6">
          <InlineText parts={block.parts} />
        </p>
      );
    case 'quote':
      return (
        <blockquote className="mt-3 border-line-strong border-l-2 pl-4 text-ink-soft leading-6">
          <BlocksInside blocks={block.blocks} />
        </blockquote>
      );
    case 'list': {
      const List = block.isOrdered ? 'ol' : 'ul';
      return (
        <List
          className={`mt-3 flex flex-col gap-1.5 pl-5 text-ink-soft leading-6 ${block.isOrdered ? 'list-decimal' : 'list-disc'}`}
        >
          {block.items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the text of a page never changes, and two items may be alike
            <li key={index} className="text-pretty break-words">
              <BlocksInside blocks={item} />
            </li>
          ))}
        </List>
      );
    }
    case 'code':
      return (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
          tabIndex={0}
          className="mt-3 overflow-x-auto rounded-control border border-line bg-sunken px-4 py-3 font-mono text-sm"
        >
          {block.text}
        </pre>
      );
    case 'table':
      return <TableView head={block.head} rows={block.rows} />;
  }
}

/** Blocks of a list item or a quote: the first paragraph begins on its line. */
function BlocksInside({ blocks }: { readonly blocks: readonly Block[] }) {
  const [first, ...rest] = blocks;
  if (first?.kind !== 'paragraph') return <MarkdownView blocks={blocks} />;
  return (
    <>
      <InlineText parts={first.parts} />
      <MarkdownView blocks={rest} />
    </>
  );
}

function TableView({ head, rows }: Pick<Extract<Block, { readonly kind: 'table' }>, 'head' | 'rows'>) {
  return (
    <section
      aria-label="Table"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
      tabIndex={0}
      className="mt-3 overflow-x-auto rounded-control border border-line"
    >
      <table className="w-full border-collapse text-left text-sm">
        <thead>
          <tr className="border-line border-b bg-sunken">
            {head.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the text of a page never changes, and two cells may be alike
              <th key={index} scope="col" className="px-3 py-2 font-medium">
                <InlineText parts={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowIndex) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the text of a page never changes, and two rows may be alike
            <tr key={rowIndex} className="border-line border-b align-top last:border-b-0">
              {row.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the text of a page never changes, and two cells may be alike
                <td key={index} className="px-3 py-2 text-ink-soft">
                  <InlineText parts={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function InlineText({ parts }: { readonly parts: readonly Inline[] }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes, and two parts may be alike
  return parts.map((part, index) => <InlineView key={index} part={part} />);
}

function InlineView({ part }: { readonly part: Inline }): ReactNode {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'code':
      return <code className="font-mono text-[0.92em] text-ink">{part.text}</code>;
    case 'strong':
      return <strong className="font-semibold text-ink">{part.text}</strong>;
    case 'em':
      return <em>{part.text}</em>;
    case 'link': {
      const href = hrefOfDoc(part.href);
      if (href === null) return part.text;
      return (
        <a href={href} className="text-ink underline underline-offset-2 hover:text-accent-text">
          {part.text}
        </a>
      );
    }
  }
}
