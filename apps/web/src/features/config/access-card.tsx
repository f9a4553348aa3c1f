'use client';
// Says who can reach the app in the dashboard, and where that is set.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

export function AccessCard() {
  const { paths } = useMe();
  return (
    <Card className="p-4">
      <h2 className="font-semibold text-lg">Members</h2>
      <p className="mt-1 mb-4 text-pretty text-ink-soft">
        Roles and additional grants decide who can see and change this app. Grants can be limited to its project or one
        environment.
      </p>
      <HoverLink href={paths.members} className={buttonClass('plain')}>
        Open members
      </HoverLink>
    </Card>
  );
}
