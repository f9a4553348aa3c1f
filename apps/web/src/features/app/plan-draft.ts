// Edits of a new app's detected plan, and the values of its variables. Pure.
import { commandOf } from '@fairlead/core/kernel/command';
import { nameProblem } from '@fairlead/core/secret/rules';
import type { Outputs } from '../../api/types.ts';

export type Inspection = Outputs['source']['inspect'];
export type BuildPlan = Extract<Inspection, { kind: 'plan' }>['plan'];

/** Typed values; empty means the detected value. */
export interface PlanDraft {
  readonly install: string;
  readonly build: string;
  readonly start: string;
  readonly output: string;
  /** Values of the variables that the repository names. */
  readonly variables: Readonly<Record<string, string>>;
}

export const emptyDraft: PlanDraft = { install: '', build: '', start: '', output: '', variables: {} };

/** Commands and folders that differ from the detected ones. */
export function overridesOf({ install, build, output }: PlanDraft) {
  return {
    ...(install.trim() === '' ? {} : { installCommand: commandOf(install) }),
    ...(build.trim() === '' ? {} : { buildCommand: commandOf(build) }),
    ...(output.trim() === '' ? {} : { outputFolder: output.trim() }),
  };
}

/** Returns the overrides with the start command, which an app stores outside its settings. */
export function planInputOf(draft: PlanDraft) {
  return { ...overridesOf(draft), ...(draft.start.trim() === '' ? {} : { startCommand: commandOf(draft.start) }) };
}

/** Variables that a person may set; some names are reserved for Fairlead. */
export function settableOf({ expectedVariables }: BuildPlan): readonly string[] {
  return expectedVariables.filter((name) => nameProblem(name) === null);
}

/** Secrets to store before the first deployment. A build may read them too. */
export function secretsOf({ variables }: PlanDraft, plan: BuildPlan | null) {
  return (plan === null ? [] : settableOf(plan)).flatMap((name) => {
    const value = variables[name] ?? '';
    return value === '' ? [] : [{ name, value, atBuild: true }];
  });
}

/** Detected values of the fields, for their placeholders. */
export function detectedOf({ installCommands, buildCommands, startCommand, outputFolders }: BuildPlan) {
  return {
    install: installCommands.join(' && '),
    build: buildCommands.join(' && '),
    start: startCommand,
    output: outputFolders[0] ?? '',
  };
}

/** Kind of app for a heading, such as "Next.js". */
export function titleOf({ builder, framework, runtime }: BuildPlan): string {
  return builder === 'dockerfile' ? 'Dockerfile' : framework || runtime;
}
