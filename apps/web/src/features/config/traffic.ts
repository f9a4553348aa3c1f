// Binding of fields to the traffic settings, which servers apply as soon as they are saved. Pure.
import type { Settings } from '../../api/types.ts';
import type { BoundField, Draft } from './draft.ts';

type Traffic = Settings['traffic'];

export const AT_ONCE = 'Takes effect as soon as it is saved';

/** Binds a field to a part of the traffic settings by name. */
export function trafficOf({ settings, set, problem }: Draft) {
  return <Name extends keyof Traffic>(name: Name): BoundField<Traffic[Name]> => ({
    value: settings.traffic[name],
    error: problem(`traffic.${name}`),
    onValue: (value) => set('traffic', { ...settings.traffic, [name]: value }),
  });
}
