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
export { type LoadedSource, loadSources } from './load-sources.ts';
