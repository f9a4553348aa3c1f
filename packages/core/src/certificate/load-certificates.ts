// Loads the certificates of hosts for the desired state of a server.
import { create, toBinary } from '@bufbuild/protobuf';
import {
  type AcmeAccount,
  AcmeAccountKeySchema,
  AcmeAccountSchema,
  AcmeChallengeKind,
  type AcmeProof,
  AcmeProofSchema,
  CertificateKeySchema,
  type CertificateSpec,
  CertificateSpecSchema,
} from '@fairlead/contract/agent';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { KeyToSeal, SealTarget, SecretSealer } from '../secret/index.ts';
import { type Proof, readProofs } from './proofs.ts';
import { validatedName } from './rules.ts';
import { findUpload, withoutDashboard } from './uploads.ts';

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
  const found = await ctx.tx.certificate.findMany({
    where: { organizationId: ctx.organizationId, host: { in: [...hosts] } },
    include: { account: true },
    orderBy: { host: 'asc' },
  });
  const uploads = await selectUploads(ctx, hosts, found);
  const uploadedHosts = new Set(uploads.flatMap((upload) => upload.hosts));
  const rows = found.map((row) => (uploadedHosts.has(row.host) ? { ...row, keyId: null, chain: [] } : row));
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
  const uploadKeys: KeyToSeal[] = uploads.map(({ id, keyId }) => ({
    keyId,
    wrap: (keyDer) => toBinary(CertificateKeySchema, create(CertificateKeySchema, { certificateId: id, keyDer })),
  }));
  const sealed = await sealer.sealKeys(ctx, target, [...wanted, ...uploadKeys, ...accountKeys]);
  const accounts = accountRows.flatMap(({ id, keyId, directoryUrl }) => {
    const sealedKey = sealed.get(keyId);
    return sealedKey === undefined
      ? []
      : [create(AcmeAccountSchema, { accountId: id, directoryUrl, sealedKey, ...acme })];
  });
  const inPlace = await loadProofsInPlace(ctx, ordered);
  const certificates = rows.map((row) => {
    const sealedKey = sealed.get(row.keyId ?? '');
    const orderKey = sealed.get(row.orderKeyId ?? '');
    const proofs = readProofs(row.proofs);
    const canOrder = orderKey !== undefined && accounts.some(({ accountId }) => accountId === row.accountId);
    return create(CertificateSpecSchema, {
      certificateId: row.id,
      hosts: [row.host],
      ...(sealedKey === undefined ? {} : { chainDer: row.chain, sealedKey }),
      ...(orders(row, target.serverId) && canOrder
        ? {
            order: {
              attempt: row.attempt,
              accountId: row.accountId,
              sealedKey: orderKey,
              challenge: challenges[row.challenge] ?? AcmeChallengeKind.UNSPECIFIED,
              proofsInPlace: messagesOf(inPlace.get(row.id) ?? []),
            },
          }
        : {}),
      challengeThumbprint: row.orderServerId !== null && row.challenge === 'http-01' ? row.account.thumbprint : '',
      tlsAlpnProofs: row.challenge === 'tls-alpn-01' ? messagesOf(proofs) : [],
    });
  });
  const uploaded = uploads.flatMap(({ id, hosts: served, chain, keyId }) => {
    const sealedKey = sealed.get(keyId);
    return sealedKey === undefined
      ? []
      : [create(CertificateSpecSchema, { certificateId: id, hosts: [...served], chainDer: chain, sealedKey })];
  });
  return { certificates: [...certificates, ...uploaded], accounts };
}

interface ServedUpload {
  readonly id: string;
  readonly hosts: readonly string[];
  readonly chain: Uint8Array<ArrayBuffer>[];
  readonly keyId: string;
}

/** Returns the uploads that serve these hosts. An expired one serves only a host without an ordered certificate. */
async function selectUploads(
  ctx: OrganizationCtx,
  hosts: readonly string[],
  ordered: readonly { readonly host: string; readonly keyId: string | null }[],
): Promise<ServedUpload[]> {
  const { tx, organizationId, clock } = ctx;
  const uploads = await tx.uploadedCertificate.findMany({ where: { organizationId }, orderBy: { id: 'asc' } });
  const now = clock.now();
  const issued = new Set(ordered.filter(({ keyId }) => keyId !== null).map(({ host }) => host));
  const served = (await withoutDashboard(ctx, hosts)).flatMap((host) => {
    const upload = findUpload(uploads, host, now);
    return upload === null || (upload.notAfter <= now && issued.has(host)) ? [] : [{ host, upload }];
  });
  return [...Map.groupBy(served, ({ upload }) => upload)].map(([{ id, chain, keyId }, group]) => ({
    id,
    keyId,
    chain,
    hosts: [...new Set(group.map(({ host }) => host))].sort(),
  }));
}

const challenges: Readonly<Record<string, AcmeChallengeKind>> = {
  'http-01': AcmeChallengeKind.UNSPECIFIED,
  'dns-01': AcmeChallengeKind.DNS_01,
  'tls-alpn-01': AcmeChallengeKind.TLS_ALPN_01,
};

interface OrderFields {
  readonly orderServerId: string | null;
  readonly unreadyServers: unknown;
  readonly challenge: string;
}

/**
 * Returns true if the server should run the order now. For HTTP-01 the host's other servers answer its challenges first; for
 * TLS-ALPN-01 they need the proofs that the running order reports.
 */
function orders({ orderServerId, unreadyServers, challenge }: OrderFields, serverId: string): boolean {
  return orderServerId === serverId && (challenge !== 'http-01' || isReady(unreadyServers));
}

function isReady(unreadyServers: unknown): boolean {
  return Object.keys(unreadyServers ?? {}).length === 0;
}

function messagesOf(proofs: readonly Proof[]): AcmeProof[] {
  return proofs.map((proof) => create(AcmeProofSchema, proof));
}

interface RunningOrder extends OrderFields {
  readonly id: string;
  readonly host: string;
  readonly attempt: number;
  readonly proofs: unknown;
}

/** Returns the proofs of orders that are in place, by certificate. */
async function loadProofsInPlace(
  ctx: OrganizationCtx,
  running: readonly RunningOrder[],
): Promise<ReadonlyMap<string, readonly Proof[]>> {
  const inPlace = new Map<string, readonly Proof[]>();
  for (const { id, challenge, proofs, unreadyServers } of running) {
    if (challenge === 'tls-alpn-01' && isReady(unreadyServers)) inPlace.set(id, readProofs(proofs));
  }
  const byDns = running.filter(({ challenge }) => challenge === 'dns-01');
  if (byDns.length === 0) return inPlace;
  const records = await ctx.tx.dnsRecord.findMany({
    where: {
      organizationId: ctx.organizationId,
      state: 'ready',
      OR: byDns.map(({ id, attempt }) => ({ certificateId: id, attempt })),
    },
    select: { certificateId: true, value: true },
    orderBy: { value: 'asc' },
  });
  for (const { id, host } of byDns) {
    const own = records.filter(({ certificateId }) => certificateId === id);
    inPlace.set(
      id,
      own.map(({ value }) => ({ host: validatedName(host), value })),
    );
  }
  return inPlace;
}
