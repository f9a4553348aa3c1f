// testDatabase() for vitest's test files; needs testing-setup.ts as the run's globalSetup.
import { inject } from 'vitest';
import './testing-setup.ts';
import { cloneDatabase, type TestDatabase } from './testing.ts';

export type { TestDatabase } from './testing.ts';
export { insertOrganizationRows, type OrganizationRows } from './testing-rows.ts';

/** A fresh, migrated, empty database. Call it in beforeAll (or a test) and `drop()` it afterwards. */
export async function testDatabase(options: { readonly poolMax?: number } = {}): Promise<TestDatabase> {
  return cloneDatabase(inject('fairleadTemplateUrl'), options);
}
