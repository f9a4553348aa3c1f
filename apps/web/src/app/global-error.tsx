'use client';
// Error page for a failure of the root layout. Brings its own document.
import './globals.css';
import { ProblemPage } from '../common/page/problem-page.tsx';
import { RenderError, type RenderErrorProps } from '../common/page/render-error.tsx';

export default function GlobalError(props: RenderErrorProps) {
  return (
    <html lang="en">
      <body>
        <title>The dashboard didn't load · Fairlead</title>
        <ProblemPage>
          <RenderError {...props} title="The dashboard didn't load" />
        </ProblemPage>
      </body>
    </html>
  );
}
