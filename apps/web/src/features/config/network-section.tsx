'use client';
// Network settings of the app: private addresses and ports of its servers. Changing them needs `server.write`.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox } from '@fairlead/ui/input';
import { Plus } from 'lucide-react';
import { useId } from 'react';
import { TextField } from '../../common/form/fields.tsx';
import { Line, useRows } from '../../common/form/list-card.tsx';
import { Section } from '../../common/form/section.tsx';
import { useMe } from '../../common/organization/me.tsx';
import type { Draft } from './draft.ts';

export function NetworkSection({ draft }: { readonly draft: Draft }) {
  const { can } = useMe();
  // A grant in one environment is not enough: the server belongs to the whole organization.
  const readOnly = !can('server.write', {});
  return (
    <Section
      title="Network"
      detail="On servers that isolate apps, the app reaches only the internet and the proxy by default"
    >
      <fieldset disabled={readOnly} className="flex min-w-0 flex-col gap-5 sm:col-span-2">
        <PrivateNetwork draft={draft} />
        <ServerPorts draft={draft} />
      </fieldset>
      {readOnly ? (
        <p className="text-ink-faint text-sm sm:col-span-2">
          These settings give the app access to its servers. You need the permission “Change servers” to change them.
        </p>
      ) : null}
    </Section>
  );
}

function PrivateNetwork({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const hintId = useId();
  const error = problem('privateNetwork');
  return (
    <div className="flex flex-col gap-1">
      <Checkbox
        label="Private network access"
        aria-describedby={hintId}
        aria-invalid={error === undefined ? undefined : true}
        checked={settings.privateNetwork}
        onChange={(event) => set('privateNetwork', event.target.checked)}
      />
      <p id={hintId} className={error === undefined ? 'text-ink-faint text-sm' : 'text-bad-text text-sm'}>
        {error ?? 'Lets the app connect to private addresses, such as 10.0.0.0/8, 192.168.0.0/16 and fc00::/7.'}
      </p>
    </div>
  );
}

function ServerPorts({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows(settings.serverPorts, (ports) => set('serverPorts', ports));
  const [titleId, hintId] = [useId(), useId()];
  const problems = rows.map((_, at) => problem(`serverPorts.${at}`));
  const whole = problems.every((each) => each === undefined) ? problem('serverPorts') : undefined;
  return (
    <fieldset aria-labelledby={titleId} aria-describedby={hintId} className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-col gap-1">
        <h3 id={titleId} className="font-medium text-ink">
          Server ports
        </h3>
        <p id={hintId} className="text-ink-faint text-sm">
          TCP ports of the server that the app reaches at the same address, such as a database on the server's loopback.
          A port without an address means 127.0.0.1.
        </p>
      </div>
      {rows.map(({ key, item }, at) => (
        <Line key={key} remove={`Remove ${item || 'the server port'}`} onRemove={() => remove(key)}>
          <TextField
            label="Address and port"
            className="sm:col-span-2"
            error={problems[at]}
            value={item}
            placeholder="127.0.0.1:5432"
            onValue={(port) => change(key, port)}
          />
        </Line>
      ))}
      {whole === undefined ? null : <ErrorNote>{whole}</ErrorNote>}
      <Button className="self-start" icon={<Plus size={15} aria-hidden="true" />} onClick={() => add('')}>
        Add server port
      </Button>
    </fieldset>
  );
}
