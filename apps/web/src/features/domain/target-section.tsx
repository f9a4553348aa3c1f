'use client';
// Where a domain leads, and whether plain HTTP gets there too.
import { Checkbox } from '@fairlead/ui/input';
import { ChoiceField, TextField } from '../../common/fields.tsx';
import { Section } from '../../common/section.tsx';
import type { Draft, PolicyDraft } from './draft.ts';

type Redirect = NonNullable<PolicyDraft['redirect']>;

const FIRST: Redirect = { to: '', status: 308, keepPath: true };
const STATUSES = [
  { value: '308', label: '308 – for good' },
  { value: '307', label: '307 – for now' },
  { value: '301', label: '301 – for good, by GET' },
  { value: '302', label: '302 – for now, by GET' },
  { value: '303', label: '303 – see this instead' },
] as const;

export interface TargetSectionProps {
  readonly draft: Draft;
  readonly appName: string;
  readonly pathPrefix: string;
}

export function TargetSection({ draft: { policy, set, problem }, appName, pathPrefix }: TargetSectionProps) {
  const { redirect } = policy;
  return (
    <Section title="Leads to">
      <ChoiceField
        label="Requests go to"
        value={redirect === null ? 'app' : 'redirect'}
        options={[
          { value: 'app', label: appName },
          { value: 'redirect', label: 'Another address' },
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
            label="Keep path and query of the request"
            checked={redirect.keepPath}
            onChange={(event) => set('redirect', { ...redirect, keepPath: event.target.checked })}
          />
        </>
      )}
      {pathPrefix === '/' || redirect !== null ? null : (
        <Checkbox
          className="sm:col-span-2"
          label={`The app gets paths without ${pathPrefix}`}
          checked={policy.stripPrefix}
          onChange={(event) => set('stripPrefix', event.target.checked)}
        />
      )}
      <Checkbox
        className="sm:col-span-2"
        label="Answer plain http too, instead of leading it to https"
        checked={policy.servePlainHttp}
        onChange={(event) => set('servePlainHttp', event.target.checked)}
      />
    </Section>
  );
}
