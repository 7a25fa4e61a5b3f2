import type { Adapter, Log, Tidemark } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';

export interface ConnectorHostParts {
  readonly app: Pick<FastifyInstance, 'inject'>;
  readonly tidemark: Pick<Tidemark, 'store' | 'tokens'>;
  readonly log: Log;
  /** What sources name as their adapter, by name. */
  readonly adapters: Map<string, Adapter>;
  /** The id of this server. */
  readonly serverId: string;
}
