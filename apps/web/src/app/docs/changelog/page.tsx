// Changelog of the running version.
import type { Metadata } from 'next';
import { changelogPath } from '../../../common/page/docs-paths.ts';
import { DocsFrame } from '../../../features/docs/docs-frame.tsx';
import { parseMarkdown } from '../../../features/docs/markdown.ts';
import { MarkdownView } from '../../../features/docs/markdown-view.tsx';
import { readChangelog } from '../../../server/doc-files.ts';

export const metadata: Metadata = { title: "What's new" };

export default async function ChangelogPage() {
  const text = await readChangelog();
  return (
    <DocsFrame current={changelogPath}>
      <MarkdownView blocks={parseMarkdown(text)} />
    </DocsFrame>
  );
}
