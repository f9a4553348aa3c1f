'use client';
// Error page for a failure while a page of an organization rendered.
import { Page } from '../../common/page/page.tsx';
import { RenderError, type RenderErrorProps } from '../../common/page/render-error.tsx';

export default function PageError(props: RenderErrorProps) {
  return (
    <Page>
      <RenderError {...props} />
    </Page>
  );
}
