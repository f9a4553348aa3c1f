export { claimSetup } from './claim-setup.ts';
export { createFirstOrganization, type FirstOrganization } from './create-first-organization.ts';
export { isSetupNeeded } from './is-setup-needed.ts';
export { rotateSetupToken } from './rotate-setup-token.ts';
export * from './schema.ts';
