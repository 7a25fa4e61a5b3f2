export { type EmbeddedBusOptions, openEmbeddedBus } from './bus.ts';
export { type EmbeddedOptions, type EmbeddedStore, openEmbeddedStore } from './embedded-store.ts';
export { FORMAT, type Opening, UnusableFolder } from './folder.ts';
export type { EmbeddedJobsOptions } from './jobs/embedded-jobs.ts';
export type { JobsBounds } from './jobs/jobs-task.ts';
