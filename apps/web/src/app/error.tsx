'use client';
// Error page for a failure while a page outside of an organization rendered.
import { RenderError, type RenderErrorProps } from '../common/page/render-error.tsx';

export default function RootError(props: RenderErrorProps) {
  return (
    <main className="grid min-h-dvh place-content-center">
      <RenderError {...props} />
    </main>
  );
}
