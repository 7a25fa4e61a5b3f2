import type { Platform } from '../ports/platform.ts';
import type { Show } from '../pull/apply-page.ts';
import type { AppVersions } from '../state/app-versions.ts';
import type { About } from './describe-device.ts';
import type { MergeFunction } from './resolve-problem.ts';
import type { GetToken } from './sessions.ts';

/** The options of the part that uses the network. */
export interface NetworkOptions {
  readonly url: string;
  readonly platform: Platform;
  readonly sources: readonly string[] | null;
  readonly pageObjects: number | null;
  readonly pollMs: number;
  readonly usesStream: boolean;
  readonly usesSnapshots: boolean;
  readonly show: Show;
  readonly about: About;
  /** Translates for an app that says which versions of schemas it was built with. */
  readonly versions: AppVersions | null;
  readonly getToken: GetToken | null;
  /** Merge functions by source. */
  readonly merge: Readonly<Record<string, MergeFunction>>;
}
