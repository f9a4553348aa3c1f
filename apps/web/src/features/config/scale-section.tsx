'use client';
// How many copies run: a number, or between a least and a most as the load asks for it, or none while nobody comes.
import { Card, CardHeader } from '@fairlead/ui/card';
import { Checkbox } from '@fairlead/ui/input';
import { NumberField } from '../../common/fields.tsx';
import type { Draft } from './draft.ts';

const FIRST = { instancesMin: 1, instancesMax: 4, idleTimeoutMs: 300_000, inFlightTarget: 20, cpuMillisTarget: 0 };

export function ScaleSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { scale } = settings;
  const change = (part: Partial<NonNullable<typeof scale>>) => set('scale', { ...FIRST, ...scale, ...part });
  return (
    <Card>
      <CardHeader title="Scale by itself" detail="Takes effect as soon as it is saved" />
      <div className="flex flex-col gap-5 border-line border-t p-5">
        <Checkbox
          label="Start and stop instances with the load"
          checked={scale !== null}
          onChange={(event) => set('scale', event.target.checked ? FIRST : null)}
        />
        {scale === null ? null : (
          <div className="grid grid-cols-1 gap-5 sm:grid-cols-2">
            <NumberField
              label="At least"
              hint="0: all may sleep; the first request wakes one."
              error={problem('scale')}
              value={scale.instancesMin}
              onValue={(instancesMin) => change({ instancesMin })}
            />
            <NumberField
              label="At most"
              hint="On each server."
              min={1}
              value={scale.instancesMax}
              onValue={(value) => change({ instancesMax: value })}
            />
            <NumberField
              label="Requests in flight"
              hint="That one instance should have."
              zero="Not looked at"
              value={scale.inFlightTarget}
              onValue={(inFlightTarget) => change({ inFlightTarget })}
            />
            <NumberField
              label="CPU"
              hint="That one instance should use."
              unit="cores"
              zero="Not looked at"
              value={scale.cpuMillisTarget}
              onValue={(cpuMillisTarget) => change({ cpuMillisTarget })}
            />
            {scale.instancesMin > 0 ? null : (
              <NumberField
                label="Sleeps after"
                hint="Without a request."
                unit="minutes"
                value={scale.idleTimeoutMs}
                onValue={(idleTimeoutMs) => change({ idleTimeoutMs })}
              />
            )}
          </div>
        )}
      </div>
    </Card>
  );
}
