// Command that removes an agent on its machine, without the control plane.
import { CopyButton } from '@fairlead/ui/copy-button';

const COMMAND = 'fairlead-agent uninstall';

export function UninstallCommand() {
  return (
    <>
      <div className="flex items-center gap-2 rounded-control border border-line bg-sunken py-1 pr-2 pl-3">
        <code className="min-w-0 flex-1 break-all font-mono text-ink text-xs leading-5">{COMMAND}</code>
        <CopyButton value={COMMAND} label="Copy command" />
      </div>
      <p>
        Run it on the machine, as the user who installed the agent. It stops the apps and removes all of Fairlead except
        the volumes. Add <code className="font-mono text-xs">--with-data</code> to delete them too. It can be repeated,
        and needs no connection.
      </p>
    </>
  );
}
