// Procedures of projects.
import {
  createProject,
  createProjectInputSchema,
  deleteProject,
  deleteProjectInputSchema,
  getProject,
  listProjects,
  projectDetailSchema,
  projectListSchema,
  projectRefSchema,
  updateProject,
  updateProjectInputSchema,
} from '@fairlead/core/project';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfProject, open } from '../protection.ts';
import { byProject } from '../scopes.ts';

export const projectRouter = router({
  list: memberProcedure('app.read', { lists: 'environment' })
    .output(projectListSchema)
    .query(({ ctx }) => listProjects(ctx.core, ctx.access.reach('app.read'))),

  get: memberProcedure('project.write', { input: projectRefSchema, scope: byProject })
    .output(projectDetailSchema)
    .query(({ ctx, input }) => getProject(ctx.core, input)),

  create: memberProcedure('project.write', {
    input: createProjectInputSchema,
    protection: open('a new project has no visitors'),
  })
    .output(projectRefSchema)
    .mutation(({ ctx, input }) => createProject(ctx.core, input)),

  update: memberProcedure('project.write', {
    input: updateProjectInputSchema,
    scope: byProject,
    protection: open('only members see the name'),
  })
    .output(projectRefSchema)
    .mutation(({ ctx, input }) => updateProject(ctx.core, input)),

  delete: memberProcedure('project.write', {
    input: deleteProjectInputSchema,
    scope: byProject,
    protection: approverOfProject,
  })
    .output(projectRefSchema)
    .mutation(({ ctx, input }) => deleteProject(ctx.core, input)),
});
