export { addDashboardDomain } from './add-dashboard-domain.ts';
export { deleteDashboardDomain } from './delete-dashboard-domain.ts';
export { dashboardFacts } from './facts.ts';
export { listDashboardDomains } from './list-dashboard-domains.ts';
export { type ExpectedAnswer, listExpectedAnswers, recordAnswer } from './record-answer.ts';
export type { DashboardFacts } from './rules.ts';
export * from './schema.ts';
export { retryDashboardCertificate, verifyDashboardDomain } from './verify-dashboard-domain.ts';
export { type DashboardAddresses, watchAddresses } from './watch-addresses.ts';
