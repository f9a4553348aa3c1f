import { expect, test } from 'vitest';
import { renderPermissions } from './testing/matrix/document.ts';

test('docs/permissions.md matches the declarations of the procedures', async () => {
  await expect(renderPermissions()).toMatchFileSnapshot('../../../docs/permissions.md');
});
