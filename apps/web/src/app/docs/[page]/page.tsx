// One document of the documentation.
import type { Metadata } from 'next';
import { notFound } from 'next/navigation';
import { DOC_PAGES, docPath } from '../../../common/page/docs.ts';
import { DocsFrame } from '../../../features/docs/docs-frame.tsx';
import { parseMarkdown } from '../../../features/docs/markdown.ts';
import { MarkdownView } from '../../../features/docs/markdown-view.tsx';
import { readDoc } from '../../../server/doc-files.ts';

interface Props {
  readonly params: Promise<{ readonly page: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { page } = await params;
  return { title: DOC_PAGES.find(({ name }) => name === page)?.title ?? 'Page not found' };
}

export default async function DocPage({ params }: Props) {
  const { page } = await params;
  // The list is also the guard: no other file is read.
  const found = DOC_PAGES.find(({ name }) => name === page);
  if (found === undefined) notFound();
  const text = await readDoc(found.file ?? found.name);
  return (
    <DocsFrame current={docPath(found.name)}>
      <MarkdownView blocks={parseMarkdown(text)} />
    </DocsFrame>
  );
}
