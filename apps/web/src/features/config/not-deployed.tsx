// Note on saved settings that the live release does not have.
import { useFormats } from '@fairlead/ui/formats';
import { StateMark } from '@fairlead/ui/state-pill';
import { namedSetting } from '../../common/app/setting-fields.ts';

export function NotDeployed({ names }: { readonly names: readonly string[] }) {
  const { plural } = useFormats();
  const labels = [...new Set(names.map((name) => namedSetting(name).label))];
  if (labels.length === 0) return null;
  return (
    <p className="flex items-baseline gap-2.5 rounded-card bg-warn-wash px-4 py-3">
      <StateMark tone="warn" />
      <span className="min-w-0 text-pretty">
        {plural(labels.length, 'setting is', 'settings are')} not live yet:{' '}
        <span className="wrap-anywhere font-medium">{labels.join(', ')}</span>. The next deployment applies them.
      </span>
    </p>
  );
}
