export { claimSetup } from './claim-setup.ts';
export { createFirstOrganization, type FirstOrganization } from './create-first-organization.ts';
export { isSetupNeeded } from './is-setup-needed.ts';
export { requireSetupToken } from './require-setup-token.ts';
export { rotateSetupToken } from './rotate-setup-token.ts';
export * from './schema.ts';
