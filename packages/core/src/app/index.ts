// The door to apps.
export { attachServer, detachServer } from './attach-server.ts';
export { copiesOfPlacement } from './copies.ts';
export { createApp } from './create-app.ts';
export { deleteApp } from './delete-app.ts';
export { detachEnvironment } from './detach-environment.ts';
export { getApp } from './get-app.ts';
export { listApps } from './list-apps.ts';
export { scaleApp } from './scale-app.ts';
export * from './schema.ts';
export { type AppFilter, countApps, type LoadedApp, loadApps } from './store.ts';
export { toInspectQuery } from './to-inspect-query.ts';
export { updateApp } from './update-app.ts';
export { updateConfig } from './update-config.ts';
