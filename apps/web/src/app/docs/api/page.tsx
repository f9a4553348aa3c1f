// Public API reference. It reveals no more than the document at /api/v1/openapi.json.
import { apiDocument } from '@fairlead/api';
import { PageHeader } from '@fairlead/ui/page-header';
import type { Metadata } from 'next';
import { Crumbs, Page } from '../../../common/page/page.tsx';
import { ApiReference } from '../../../features/docs/api-reference.tsx';
import { entriesOf } from '../../../features/docs/reference.ts';

export const metadata: Metadata = { title: 'API reference' };

export default function ApiPage() {
  const document = apiDocument();
  return (
    <main>
      <Page>
        <PageHeader breadcrumb={<Crumbs items={[{ title: 'Dashboard', href: '/' }]} />} title="API reference" />
        <p className="mb-6 max-w-prose text-pretty text-ink-soft">
          Create a token under Settings → API tokens and send it as{' '}
          <code className="font-mono text-sm">Authorization: Bearer flt_…</code>. An error is a problem document with a
          stable <code className="font-mono text-sm">code</code>. Client generators can use the{' '}
          <a href="/api/v1/openapi.json" className="underline hover:text-ink">
            OpenAPI 3.1 document
          </a>
          .
        </p>
        <ApiReference entries={entriesOf(document)} />
      </Page>
    </main>
  );
}
