// Labels of the scopes of variables.
import type { VariableScope } from '@fairlead/core/config/schema';

export const scopeLabel: Readonly<Record<VariableScope, string>> = {
  both: 'Build and run',
  build: 'Build only',
  run: 'Run only',
};

export const SCOPES = (['both', 'build', 'run'] as const).map((value) => ({ value, label: scopeLabel[value] }));
