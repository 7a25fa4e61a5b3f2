export { type EmbeddedOptions, openEmbeddedStore } from './embedded-store.ts';
export { FORMAT, UnusableFolder } from './folder.ts';
