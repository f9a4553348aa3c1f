export { createProject } from './create-project.ts';
export { deleteProject } from './delete-project.ts';
export { getProject } from './get-project.ts';
export { insertProject } from './insert-project.ts';
export { listProjects } from './list-projects.ts';
export * from './schema.ts';
export { updateProject } from './update-project.ts';
