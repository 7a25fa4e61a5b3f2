export { makeApp } from './commands/init.ts';
export { run } from './run.ts';
