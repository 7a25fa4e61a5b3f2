import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../handler/create-handler.ts';
import { nodeListener } from './node.ts';

/**
 * The handler for Express: `app.use('/tidemark', expressMount(handler))`. Mount it before body parsers such as
 * `express.json()`: the signature covers the bytes as they were sent.
 */
export function expressMount(handler: Handler): (request: IncomingMessage, response: ServerResponse) => void {
  return nodeListener(handler);
}
