// The door to apps.
export { attachServer, detachServer } from './attach-server.ts';
export { createApp } from './create-app.ts';
export { deleteApp } from './delete-app.ts';
export { getApp } from './get-app.ts';
export { listApps } from './list-apps.ts';
export * from './schema.ts';
export { type AppFilter, type LoadedApp, loadApps } from './store.ts';
export { updateApp } from './update-app.ts';
export { updateConfig } from './update-config.ts';
