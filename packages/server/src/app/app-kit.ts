import type { LoadedSource } from './load-sources.ts';

export {
  type Attributes,
  type ChangeCall,
  conflict,
  defineSource,
  type Objects,
  type PersonalSourceCall,
  rejected,
  type SourceCall,
  type SourceDefinition,
} from './define-source.ts';
export type { LoadedSource } from './load-sources.ts';

/**
 * Loads the source modules of an app folder, as the server does. The code for it is loaded on first use: source modules
 * import this kit, and most of them do not call this.
 */
export async function loadSources(appFolder: string): Promise<readonly LoadedSource[]> {
  return (await import('./load-sources.ts')).loadSources(appFolder);
}
