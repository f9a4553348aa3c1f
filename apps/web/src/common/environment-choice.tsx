'use client';
// In which of its environments an app is looked at: kept in the address, so that the view can be linked. Absent while there
// is only one.
import { Select } from '@fairlead/ui/input';
import type { AppDetail } from '../api/types.ts';
import { useUrlFilter } from './use-url-state.ts';

export type AppPlace = AppDetail['places'][number];

/** Where the app was made, until the address says otherwise. */
export function usePlace(app: AppDetail): { place: AppPlace | null; choose: (environmentId: string) => void } {
  const { value, set } = useUrlFilter('environment');
  const place = app.places.find((each) => each.environmentId === value) ?? app.places[0] ?? null;
  return { place, choose: (environmentId) => set(environmentId === app.places[0]?.environmentId ? '' : environmentId) };
}

export function EnvironmentChoice({ app }: { readonly app: AppDetail }) {
  const { place, choose } = usePlace(app);
  if (place === null || app.places.length < 2) return null;
  return (
    <Select
      aria-label="Environment"
      className="max-w-56"
      value={place.environmentId}
      onChange={(event) => choose(event.target.value)}
    >
      {app.places.map((each) => (
        <option key={each.environmentId} value={each.environmentId}>
          {each.environmentName}
        </option>
      ))}
    </Select>
  );
}
