import type { Adapter, Log, Tidemark } from '@tidemark/core';
import type { Inject } from './in-process-client.ts';

export interface ConnectorHostParts {
  readonly inject: Inject;
  readonly tidemark: Pick<Tidemark, 'store' | 'tokens' | 'connectors'>;
  readonly log: Log;
  /** What sources name as their adapter, by name. */
  readonly adapters: Map<string, Adapter>;
  /** The id of this server. */
  readonly serverId: string;
}
