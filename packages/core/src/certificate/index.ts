export { type CertificateConfig, getCertificate } from './get-certificate.ts';
export { listCertificates } from './list-certificates.ts';
export { type AcmeOptions, loadCertificates } from './load-certificates.ts';
export { type AcmeConfig, listOrganizationsWithHosts, planOrders } from './plan-orders.ts';
export { recordOrders } from './record-orders.ts';
export { retryCertificate } from './retry-certificate.ts';
export * from './schema.ts';
