// Input of lists for the project filter in a URL. Pure, for servers and browsers, and without zod, because browsers load
// it on every page.
import type { ProjectId } from '@fairlead/contract/ids';

export const PROJECT_FILTER = 'project';

/** A text that is no id of a project filters nothing. */
export function projectInput(text: string): { projectId?: ProjectId } {
  return /^prj_[0-9A-Za-z]{1,64}$/.test(text) ? { projectId: text as ProjectId } : {};
}
