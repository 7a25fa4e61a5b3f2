export { compose, type Running } from './compose.ts';
export { type Config, ConfigProblem, readConfig } from './config.ts';
export { buildHttp } from './http.ts';
export { type Problem, prefersText, problemOf } from './problem.ts';
