'use client';
// Error page for a failure while a page outside of an organization rendered.
import { ProblemPage } from '../common/page/problem-page.tsx';
import { RenderError, type RenderErrorProps } from '../common/page/render-error.tsx';

export default function RootError(props: RenderErrorProps) {
  return (
    <ProblemPage>
      <RenderError {...props} />
    </ProblemPage>
  );
}
