export { type EmbeddedBusOptions, openEmbeddedBus } from './bus.ts';
export { FORMAT, type Opening, UnusableFolder } from './data-folder.ts';
export type { EmbeddedJobsOptions } from './jobs/jobs.ts';
export type { JobsBounds } from './jobs/jobs-task.ts';
export { type EmbeddedOptions, type EmbeddedStore, openEmbeddedStore } from './open-store.ts';
