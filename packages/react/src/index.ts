export { TidemarkProvider, type TidemarkProviderProps, useDevice } from './provider.ts';
export type { Register, RegisteredDevice } from './register.ts';
export {
  type ShownPages,
  useCount,
  useIsLoading,
  useObject,
  usePages,
  useProblems,
  useQuery,
  useSource,
  useSuspenseQuery,
  useSyncStatus,
  useUploads,
} from './use-data.ts';
export { type ShownFile, useFile } from './use-file.ts';
export { type Mutation, useMutation } from './use-mutation.ts';
