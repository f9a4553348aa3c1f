'use client';
// Locale and time zone of numbers and dates, with an example of the chosen ones.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { formatsOf, type Viewer } from '@fairlead/ui/formats';
import { Field, Select } from '@fairlead/ui/input';
import { useNow } from '@fairlead/ui/lib/clock';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useRouter } from 'next/navigation';
import { type FormEvent, useMemo, useState } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAccountCall } from './use-account-call.ts';

export interface RegionChoices {
  readonly locales: readonly { readonly value: string; readonly label: string }[];
  readonly timeZones: readonly string[];
}

export interface RegionCardProps {
  readonly account: Pick<Outputs['account']['get'], 'locale' | 'timeZone'>;
  readonly choices: RegionChoices;
  readonly browser: Viewer;
}

export function RegionCard({ account, choices, browser }: RegionCardProps) {
  const client = useTRPCClient();
  const router = useRouter();
  const call = useAccountCall();
  // Empty: the browser's.
  const [locale, setLocale] = useState(account.locale ?? '');
  const [timeZone, setTimeZone] = useState(account.timeZone ?? '');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const region = { locale: locale || null, timeZone: timeZone || null };
    const saved = await call.run(() => client.account.update.mutate(region), 'Language and region saved');
    // Pages that the router has kept show the former formats.
    if (saved !== undefined) router.refresh();
  };
  return (
    <Card>
      <CardHeader title="Language and region" />
      <form onSubmit={submit} className="flex flex-col gap-4 border-line border-t px-4 py-4">
        <Field
          label="Region format"
          hint="For numbers and dates. Words stay English."
          error={call.failure?.fields.locale}
        >
          {(control) => (
            <Select {...control} value={locale} onChange={(event) => setLocale(event.target.value)}>
              <option value="">Browser's language</option>
              {account.locale === null || choices.locales.some(({ value }) => value === account.locale) ? null : (
                <option value={account.locale}>{account.locale}</option>
              )}
              {choices.locales.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Time zone" hint="Hover over a time for UTC." error={call.failure?.fields.timeZone}>
          {(control) => (
            <Select {...control} value={timeZone} onChange={(event) => setTimeZone(event.target.value)}>
              <option value="">Browser's time zone</option>
              {account.timeZone === null || choices.timeZones.includes(account.timeZone) ? null : (
                <option value={account.timeZone}>{account.timeZone}</option>
              )}
              {choices.timeZones.map((name) => (
                <option key={name} value={name}>
                  {name.replaceAll('_', ' ')}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Example locale={locale || browser.locale} timeZone={timeZone || browser.timeZone} />
        {call.failure === null || Object.keys(call.failure.fields).length > 0 ? null : (
          <ErrorNote>{call.failure.message}</ErrorNote>
        )}
        <SubmitButton pending={call.pending} className="self-start">
          Save
        </SubmitButton>
      </form>
    </Card>
  );
}

function Example({ locale, timeZone }: Viewer) {
  const now = useNow();
  const { formatFixed, formatTime } = useMemo(() => formatsOf({ locale, timeZone }), [locale, timeZone]);
  return (
    <p className="text-ink-soft text-sm tabular">
      Example: {formatFixed(1_234_567.89, 2)} · {/* The server renders a moment before the browser. */}
      <span suppressHydrationWarning>{formatTime(now)}</span>
    </p>
  );
}
