import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { Dialog } from './dialog.tsx';

test('a held dialog has no close button', () => {
  const render = (held: boolean) =>
    renderToStaticMarkup(
      <Dialog open onClose={() => undefined} title="Codes" held={held}>
        text
      </Dialog>,
    );
  expect(render(false)).toContain('aria-label="Close"');
  expect(render(true)).not.toContain('aria-label="Close"');
});
