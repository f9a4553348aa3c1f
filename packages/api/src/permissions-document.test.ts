import { expect, test } from 'vitest';
import { renderPermissions } from './testing/matrix/document.ts';

test('docs/permissions.md is what the procedures declare', async () => {
  await expect(renderPermissions()).toMatchFileSnapshot('../../../docs/permissions.md');
});
