import { expect, test } from 'vitest';
import { renderSettings } from './testing/document.ts';

test('docs/settings.md matches the table of settings', async () => {
  await expect(renderSettings()).toMatchFileSnapshot('../../../docs/settings.md');
});
