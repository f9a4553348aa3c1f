// Loads the certificates of hosts for the desired state of a server.
import { create, toBinary } from '@bufbuild/protobuf';
import {
  type AcmeAccount,
  AcmeAccountKeySchema,
  AcmeAccountSchema,
  CertificateKeySchema,
  type CertificateSpec,
  CertificateSpecSchema,
} from '@fairlead/contract/agent';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { KeyToSeal, SealTarget, SecretSealer } from '../secret/index.ts';

export interface AcmeOptions {
  /** Authorities of the directory's own certificate, PEM; empty: the system's of each server. */
  readonly directoryCaPem: string;
  /** Address that the authority may write to; empty: none. */
  readonly email: string;
}

export interface CertificateRows {
  readonly certificates: readonly CertificateSpec[];
  readonly accounts: readonly AcmeAccount[];
}

/** Returns the certificates of these hosts, with keys sealed to the server, and the orders that it should run. */
export async function loadCertificates(
  ctx: OrganizationCtx,
  sealer: SecretSealer,
  {
    target,
    hosts,
    acme,
  }: { readonly target: SealTarget; readonly hosts: readonly string[]; readonly acme: AcmeOptions },
): Promise<CertificateRows> {
  const rows = await ctx.tx.certificate.findMany({
    where: { organizationId: ctx.organizationId, host: { in: [...hosts] } },
    include: { account: true },
    orderBy: { host: 'asc' },
  });
  const wanted: KeyToSeal[] = rows.flatMap((row) => {
    const wrap = (keyDer: Uint8Array) =>
      toBinary(CertificateKeySchema, create(CertificateKeySchema, { certificateId: row.id, keyDer }));
    const isOrdered = orders(row, target.serverId);
    return [
      ...(row.keyId === null ? [] : [{ keyId: row.keyId, wrap }]),
      ...(isOrdered && row.orderKeyId !== null ? [{ keyId: row.orderKeyId, wrap }] : []),
    ];
  });
  const ordered = rows.filter((row) => orders(row, target.serverId));
  const accountRows = [...new Map(ordered.map(({ account }) => [account.id, account])).values()];
  const accountKeys: KeyToSeal[] = accountRows.map(({ id, keyId }) => ({
    keyId,
    wrap: (keyDer) => toBinary(AcmeAccountKeySchema, create(AcmeAccountKeySchema, { accountId: id, keyDer })),
  }));
  const sealed = await sealer.sealKeys(ctx, target, [...wanted, ...accountKeys]);
  const accounts = accountRows.flatMap(({ id, keyId, directoryUrl }) => {
    const sealedKey = sealed.get(keyId);
    return sealedKey === undefined
      ? []
      : [create(AcmeAccountSchema, { accountId: id, directoryUrl, sealedKey, ...acme })];
  });
  const certificates = rows.map((row) => {
    const sealedKey = sealed.get(row.keyId ?? '');
    const orderKey = sealed.get(row.orderKeyId ?? '');
    const canOrder = orderKey !== undefined && accounts.some(({ accountId }) => accountId === row.accountId);
    return create(CertificateSpecSchema, {
      certificateId: row.id,
      hosts: [row.host],
      ...(sealedKey === undefined ? {} : { chainDer: row.chain, sealedKey }),
      ...(orders(row, target.serverId) && canOrder
        ? { order: { attempt: row.attempt, accountId: row.accountId, sealedKey: orderKey } }
        : {}),
      challengeThumbprint: row.orderServerId === null ? '' : row.account.thumbprint,
    });
  });
  return { certificates, accounts };
}

interface OrderFields {
  readonly orderServerId: string | null;
  readonly unreadyServers: unknown;
}

/** Tells if the server should run the order now: the host's other servers answer its challenges. */
function orders({ orderServerId, unreadyServers }: OrderFields, serverId: string): boolean {
  return orderServerId === serverId && Object.keys(unreadyServers ?? {}).length === 0;
}
