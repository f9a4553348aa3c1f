// The running copies of an app, as their server last reported them.
import { Card, CardHeader } from '@fairlead/ui/card';
import { plural } from '@fairlead/ui/lib/format';
import { RelativeTime } from '@fairlead/ui/relative-time';
import type { AppDetail } from '../../api/types.ts';
import { LookText } from '../../common/state-view.tsx';
import type { StateLook } from '../../common/states.ts';

type Instance = AppDetail['instances'][number];

const LOOK: Record<Instance['state'], StateLook> = {
  starting: { tone: 'busy', shape: 'half', label: 'Starting' },
  healthy: { tone: 'ok', shape: 'dot', label: 'Healthy' },
  unhealthy: { tone: 'warn', shape: 'bang', label: 'Unhealthy' },
  draining: { tone: 'idle', shape: 'half', label: 'Draining' },
  stopped: { tone: 'idle', shape: 'dash', label: 'Stopped' },
  crashed: { tone: 'bad', shape: 'cross', label: 'Crashed' },
  given_up: { tone: 'bad', shape: 'cross', label: 'Given up' },
  asleep: { tone: 'idle', shape: 'ring', label: 'Asleep' },
};

export function Instances({ app }: { readonly app: AppDetail }) {
  return (
    <Card>
      <CardHeader title="Instances" detail={`${plural(app.instancesWanted, 'copy', 'copies')} wanted`} />
      {app.instances.length === 0 ? (
        <p className="px-4 pb-4 text-ink-faint">None is running. A deployment starts one.</p>
      ) : (
        <ul className="pb-1">
          {app.instances.map((instance) => (
            <li key={instance.id} className="border-line border-t px-4 py-2.5">
              <div className="flex items-center gap-3">
                <LookText look={LOOK[instance.state]} />
                <span className="tabular ml-auto font-mono text-xs text-ink-faint">
                  {instance.port === null ? null : `:${instance.port}`}
                </span>
              </div>
              <p className="mt-0.5 text-sm text-ink-faint">
                Release {instance.releaseNumber}
                {instance.startedAt === null ? null : (
                  <>
                    , started <RelativeTime at={instance.startedAt} />
                  </>
                )}
                {instance.restarts > 0 ? `, ${plural(instance.restarts, 'restart')}` : null}
              </p>
              {instance.detail === '' ? null : <p className="mt-0.5 text-sm text-ink-soft">{instance.detail}</p>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
