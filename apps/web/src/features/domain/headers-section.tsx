'use client';
// Request and response headers that the proxy changes.
import { ChoiceField, TextField } from '../../common/form/fields.tsx';
import { Line, ListCard, useRows } from '../../common/form/list-card.tsx';
import type { Draft, PolicyDraft } from './draft.ts';

type Rule = PolicyDraft['requestHeaders'][number];

const ACTIONS = [
  { value: 'set', label: 'Set' },
  { value: 'append', label: 'Append' },
  { value: 'remove', label: 'Remove' },
] as const;

export interface HeadersSectionProps {
  readonly draft: Draft;
  readonly of: 'requestHeaders' | 'responseHeaders';
}

export function HeadersSection({ draft: { policy, set, problem }, of }: HeadersSectionProps) {
  const { rows, add, remove, change } = useRows<Rule>(policy[of], (rules) => set(of, rules));
  const isRequest = of === 'requestHeaders';
  return (
    <ListCard
      title={isRequest ? 'Request headers' : 'Response headers'}
      detail={isRequest ? 'Sent to the app' : 'Sent to the browser'}
      add="Add header"
      empty="Unchanged."
      error={undefined}
      onAdd={() => add({ action: 'set', name: '', value: '' })}
    >
      {rows.map(({ key, item }, index) => (
        <Line key={key} remove={`Remove ${item.name || 'the header'}`} onRemove={() => remove(key)}>
          <ChoiceField
            label="Action"
            value={item.action}
            options={ACTIONS}
            onValue={(action) => change(key, { ...item, action, value: action === 'remove' ? '' : item.value })}
          />
          <TextField
            label="Header"
            error={problem(`${of}.${index}.name`)}
            value={item.name}
            placeholder={isRequest ? 'x-tenant' : 'strict-transport-security'}
            onValue={(name) => change(key, { ...item, name })}
          />
          {item.action === 'remove' ? null : (
            <TextField
              label="Value"
              className="sm:col-span-2"
              error={problem(`${of}.${index}.value`)}
              value={item.value}
              placeholder={isRequest ? 'blue' : 'max-age=31536000'}
              onValue={(value) => change(key, { ...item, value })}
            />
          )}
        </Line>
      ))}
    </ListCard>
  );
}
