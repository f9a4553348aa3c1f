// Selects the browser tests of `npm test`, which sets FAIRLEAD_E2E_SAMPLE. `npm run check:ui` runs all of them.
const isSample = process.env.FAIRLEAD_E2E_SAMPLE !== undefined;

/**
 * One spec for each part of the product that can break alone, chosen to take at most 5 minutes on two idle cores: first use,
 * a new app from a repository, failed deployments and logs, accessibility, an app's settings, links through sign-in,
 * roles, and variables. product.spec.ts must stay: it creates the account and the first app.
 */
const SAMPLE_SPECS = [
  'product.spec.ts',
  'rollout-failure.spec.ts',
  'scan.spec.ts',
  'settings-app.spec.ts',
  'shell-links.spec.ts',
  'source-plan.spec.ts',
  'team-roles.spec.ts',
  'variables.spec.ts',
];
/** A sample scans every fifth page, some in each part of the dashboard. */
const SAMPLE_STEP = 5;

/** Specs of this run. */
export const SPECS = isSample ? SAMPLE_SPECS : '*.spec.ts';

/** Returns the pages to scan in this run. */
export function sampled<T>(pages: readonly T[]): readonly T[] {
  return isSample ? pages.filter((_, index) => index % SAMPLE_STEP === 0) : pages;
}
