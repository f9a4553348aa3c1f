// Checks the DNS records of a dashboard's domain at once, and orders its certificate again.
import { retryHostCertificate } from '../certificate/index.ts';
import { forOperator, type OperatorCtx } from '../control-plane/index.ts';
import { hastenCheck } from '../host/index.ts';
import type { DashboardDomainRef } from './schema.ts';
import { requireDashboardDomain } from './store.ts';

/** Throws control_plane.domain_not_found. */
export async function verifyDashboardDomain(
  operator: OperatorCtx,
  input: DashboardDomainRef,
): Promise<DashboardDomainRef> {
  const ctx = forOperator(operator);
  const { host } = await requireDashboardDomain(ctx, input);
  await hastenCheck(ctx, host);
  return input;
}

/** Throws control_plane.domain_not_found, certificate.not_found and certificate.too_soon. */
export async function retryDashboardCertificate(
  operator: OperatorCtx,
  input: DashboardDomainRef,
): Promise<DashboardDomainRef> {
  const ctx = forOperator(operator);
  const { host } = await requireDashboardDomain(ctx, input);
  await retryHostCertificate(ctx, { host, automatic: false });
  return input;
}
