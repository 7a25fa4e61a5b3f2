export { type DevtoolsOptions, type DevtoolsPosition, mountDevtools } from './mount-devtools.ts';
