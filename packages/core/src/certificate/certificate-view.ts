// Converts a stored certificate to what the API returns of it.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type CertificateState, type CertificateView, certificateSchema } from './schema.ts';

type Row = NonNullable<Awaited<ReturnType<Ctx['tx']['certificate']['findFirst']>>>;

export function certificateView(row: Row, now: Date): CertificateView {
  const { failureCode, failureMessage, failedAt } = row;
  return {
    id: parseId('crt', row.id),
    host: row.host,
    state: stateOf(row, now),
    issuer: row.issuer,
    notAfter: row.notAfter,
    renewAt: row.renewAt,
    step: certificateSchema.shape.step.parse(row.step),
    failure:
      failureCode === null || failureMessage === null || failedAt === null
        ? null
        : { code: failureCode, message: failureMessage, failedAt },
    nextAttemptAt: row.orderServerId === null && failedAt !== null ? row.nextAttemptAt : null,
  };
}

function stateOf({ notAfter, orderServerId, failedAt }: Row, now: Date): CertificateState {
  if (notAfter !== null && notAfter > now) return 'issued';
  if (orderServerId !== null) return 'ordering';
  if (notAfter !== null) return 'expired';
  return failedAt === null ? 'waiting' : 'failed';
}
