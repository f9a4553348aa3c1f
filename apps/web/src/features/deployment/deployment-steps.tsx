// Steps of a deployment, each with a description; the failed step is marked.
import { type Step, Steps } from '@fairlead/ui/steps';
import type { DeploymentDetail } from '../../api/types.ts';
import { stepTitle } from '../../common/deployment/states.ts';

export function DeploymentSteps({ deployment }: { readonly deployment: DeploymentDetail }) {
  const steps = deployment.steps.map(
    (step): Step => ({
      id: step.name,
      title: stepTitle[step.name],
      state: step.state,
      startedAt: step.startedAt,
      finishedAt: step.finishedAt,
    }),
  );
  return <Steps label="Steps" steps={steps} />;
}
