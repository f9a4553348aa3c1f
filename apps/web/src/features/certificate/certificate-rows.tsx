'use client';
import { useFormats } from '@fairlead/ui/formats';
// Rows of the certificates page: names, issuer, servers, days left and state, with the last failure below the name.
import { useNow } from '@fairlead/ui/lib/clock';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Badge, StateText } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { CertificateEntry } from '../../api/types.ts';
import { CERTIFICATE_SOURCE, certificateState, formatDaysLeft } from '../../common/certificate/states.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

export function CertificateRows({ certificates }: { readonly certificates: readonly CertificateEntry[] }) {
  return (
    <Table>
      <TableHead>
        <HeadCell>Name</HeadCell>
        <HeadCell className="max-lg:hidden">Issuer</HeadCell>
        <HeadCell className="max-md:hidden">Servers</HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          Expires in
        </HeadCell>
        <HeadCell>State</HeadCell>
      </TableHead>
      <tbody>
        {certificates.map((certificate) => (
          <CertificateRow key={certificate.id} certificate={certificate} />
        ))}
      </tbody>
    </Table>
  );
}

function CertificateRow({ certificate }: { readonly certificate: CertificateEntry }) {
  const { formatExact } = useFormats();
  const { paths } = useMe();
  const now = useNow();
  const { id, source, names, host, failure, nextAttemptAt, servers } = certificate;
  const [tone, label] = certificateState(certificate, now);
  return (
    <Row>
      <Cell className="w-full max-w-0">
        <div className="flex min-w-0 items-center gap-2">
          <HoverLink
            href={source === 'local' ? paths.domain(id) : paths.certificate(id)}
            {...rowLink}
            className={`${rowLink.className} truncate font-mono text-sm font-normal`}
          >
            {host}
          </HoverLink>
          {names.length > 1 ? (
            <span className="shrink-0 text-sm text-ink-faint" title={names.join(', ')}>
              +{names.length - 1}
            </span>
          ) : null}
          {source === 'acme' ? null : <Badge className="shrink-0">{CERTIFICATE_SOURCE[source]}</Badge>}
        </div>
        {failure === null || certificate.state === 'unused' ? null : (
          <p className="mt-0.5 truncate text-sm text-ink-faint" title={failure.message}>
            {nextAttemptAt === null ? null : (
              <>
                Next order <RelativeTime at={nextAttemptAt} />.{' '}
              </>
            )}
            {failure.message}
          </p>
        )}
      </Cell>
      <Cell className="max-w-48 truncate whitespace-nowrap max-lg:hidden">{certificate.issuer ?? '–'}</Cell>
      <Cell className="max-w-40 truncate whitespace-nowrap max-md:hidden">
        {servers.length === 0 ? '–' : servers.map(({ name }) => name).join(', ')}
      </Cell>
      <Cell numeric className="max-sm:hidden">
        {certificate.notAfter === null ? (
          '–'
        ) : (
          <time
            dateTime={certificate.notAfter.toISOString()}
            title={formatExact(certificate.notAfter)}
            className="relative z-10"
          >
            {formatDaysLeft(certificate.notAfter, now)}
          </time>
        )}
      </Cell>
      <Cell>
        <StateText tone={tone}>{label}</StateText>
      </Cell>
    </Row>
  );
}
