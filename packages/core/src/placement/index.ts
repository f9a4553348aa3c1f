export { attachServer } from './attach-server.ts';
export { listBuildingApps } from './building-apps.ts';
export { createPlacement } from './create-placement.ts';
export { detachServer } from './detach-server.ts';
export { drainServer } from './drain-server.ts';
export { type DrainedApp, lockDrainedApps, type VerifyRights } from './drained-apps.ts';
export { getDrain } from './get-drain.ts';
export { moveServer } from './move-server.ts';
export { pauseDeploys } from './pause-deploys.ts';
export { scaleApp } from './scale-app.ts';
export * from './schema.ts';
export {
  bumpServersOf,
  findPlacement,
  lockApps,
  type Placement,
  type PlacementServer,
  requireNoCopy,
  requireNoPreview,
  requireNothingUnderWay,
  requireOpenServer,
  requirePlacement,
  withoutDrained,
} from './store.ts';
