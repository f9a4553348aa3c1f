'use client';
// Target of a domain, and its handling of plain HTTP.
import { Checkbox } from '@fairlead/ui/input';
import { ChoiceField, TextField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import { isLocalHost } from '../../common/local-ca/local-url.ts';
import type { Draft, PolicyDraft } from './draft.ts';

type Redirect = NonNullable<PolicyDraft['redirect']>;

const FIRST: Redirect = { to: '', status: 308, keepPath: true };
const STATUSES = [
  { value: '308', label: '308 Permanent' },
  { value: '307', label: '307 Temporary' },
  { value: '301', label: '301 Permanent, GET' },
  { value: '302', label: '302 Temporary, GET' },
  { value: '303', label: '303 See Other' },
] as const;

export interface TargetSectionProps {
  readonly draft: Draft;
  readonly appName: string;
  readonly host: string;
  readonly pathPrefix: string;
}

export function TargetSection({ draft: { policy, set, problem }, appName, host, pathPrefix }: TargetSectionProps) {
  const { redirect } = policy;
  const isLocal = isLocalHost(host);
  return (
    <Section title="Target">
      <ChoiceField
        label="Send requests to"
        value={redirect === null ? 'app' : 'redirect'}
        options={[
          { value: 'app', label: appName },
          { value: 'redirect', label: 'Redirect' },
        ]}
        onValue={(target) => set('redirect', target === 'app' ? null : FIRST)}
      />
      {redirect === null ? null : (
        <>
          <ChoiceField
            label="Status"
            error={problem('redirect.status')}
            value={`${redirect.status}`}
            options={STATUSES}
            onValue={(status) => set('redirect', { ...redirect, status: Number(status) as Redirect['status'] })}
          />
          <TextField
            label="Address"
            className="sm:col-span-2"
            error={problem('redirect.to')}
            value={redirect.to}
            placeholder="https://example.com/new"
            onValue={(to) => set('redirect', { ...redirect, to })}
          />
          <Checkbox
            className="sm:col-span-2"
            label="Keep path and query"
            checked={redirect.keepPath}
            onChange={(event) => set('redirect', { ...redirect, keepPath: event.target.checked })}
          />
        </>
      )}
      {redirect === null ? (
        <TextField
          label="Path for the app"
          hint={`Replaces ${pathPrefix} at the start of the path. Default: unchanged`}
          className="sm:col-span-2"
          error={problem('rewritePrefix')}
          value={policy.rewritePrefix}
          placeholder="/v1"
          onValue={(rewritePrefix) => set('rewritePrefix', rewritePrefix)}
        />
      ) : null}
      {pathPrefix === '/' || redirect !== null ? null : (
        <Checkbox
          className="sm:col-span-2"
          label={`Strip path prefix ${pathPrefix}`}
          checked={policy.stripPrefix}
          onChange={(event) => set('stripPrefix', event.target.checked)}
        />
      )}
      <Checkbox
        className="sm:col-span-2"
        label="Serve plain HTTP"
        hint={isLocal ? 'Names below localhost are always served over HTTP too.' : 'Does not redirect HTTP to HTTPS.'}
        disabled={isLocal}
        checked={isLocal || policy.servePlainHttp}
        onChange={(event) => set('servePlainHttp', event.target.checked)}
      />
    </Section>
  );
}
