/**
 * Imports a module by its address. Metro refuses a call like this one, so `package.json` leaves this file out of React Native,
 * where every module is part of the app.
 */
export function importAddress(address: string): Promise<unknown> {
  return import(/* @vite-ignore */ /* webpackIgnore: true */ address);
}
