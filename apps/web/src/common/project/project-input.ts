// Reads the project filter of a URL as the input of a list. Pure and without zod, because browsers load it on every page.
import type { ProjectId } from '@fairlead/contract/ids';

export const PROJECT_FILTER = 'project';

/** Returns no filter for a text that isn't the id of a project. */
export function projectInput(text: string): { projectId?: ProjectId } {
  return /^prj_[0-9A-Za-z]{1,64}$/.test(text) ? { projectId: text as ProjectId } : {};
}
