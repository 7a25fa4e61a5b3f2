/**
 * TypeBox, for all packages. It consists of some five hundred modules, which take a third of a second of CPU to load one by
 * one: `npm run setup` replaces what the compiler makes of this file by one file that contains them.
 */
export * from 'typebox';
export { Check } from 'typebox/schema';
