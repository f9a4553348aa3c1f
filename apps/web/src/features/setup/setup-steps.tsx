// The steps of the first run with their progress.
import { type StepState, Steps } from '@fairlead/ui/steps';
import type { ReactNode } from 'react';

export interface SetupStep {
  readonly state: StepState;
  readonly title: string;
  readonly detail: ReactNode;
}

export interface SetupStepsProps {
  readonly account: StepState;
  /** Null before the first account, which alone may see it. */
  readonly domain: SetupStep | null;
  readonly server: SetupStep | null;
  readonly app: SetupStep | null;
}

const DOMAIN: SetupStep = { state: 'pending', title: 'A domain', detail: 'For this dashboard, if you have one.' };
const SERVER: SetupStep = {
  state: 'pending',
  title: 'A server',
  detail: 'The agent on this machine connects by itself.',
};
const APP: SetupStep = {
  state: 'pending',
  title: 'A first app',
  detail: 'Clone, build and health check, then live over HTTPS.',
};

export function SetupSteps({ account, domain, server, app }: SetupStepsProps) {
  const steps = [
    {
      state: account,
      title: account === 'done' ? 'Owner account created' : 'Your account',
      detail: account === 'done' ? null : 'The setup token proves that you started this control plane.',
    },
    domain ?? DOMAIN,
    server ?? SERVER,
    app ?? APP,
  ];
  return (
    <div className="rounded-card border border-line bg-surface p-6">
      <Steps label="Setup" steps={steps.map((step, index) => ({ id: String(index), ...step }))} />
    </div>
  );
}
