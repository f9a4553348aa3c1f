'use client';
// Error page for a failure of the root layout. Brings its own document.
import './globals.css';
import { RenderError, type RenderErrorProps } from '../common/page/render-error.tsx';

export default function GlobalError(props: RenderErrorProps) {
  return (
    <html lang="en">
      <body>
        <main className="grid min-h-dvh place-content-center">
          <RenderError {...props} title="The dashboard didn't load" />
        </main>
      </body>
    </html>
  );
}
