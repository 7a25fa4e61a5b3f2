import type { FastifyInstance } from 'fastify';
import type { RequestFacts, RequestLog } from '../logging/request-log.ts';
import { announcedBytes } from './http-connection.ts';
import { shownPath } from './shown-path.ts';
import { bytesWrittenOf, type EndedRequest, templateOf } from './watch-answers.ts';

/** Logs the requests of the app when they are over. */
export function logRequests(app: FastifyInstance, log: Pick<RequestLog, 'ended'>): void {
  app.onEnded((ended) => {
    const { request, status, elapsedMs } = ended;
    const isStream = request.servedBy?.streams !== undefined;
    log.ended({ status, code: request.refusedWith, elapsedMs, isStream }, () => factsOf(ended));
  });
}

function factsOf({ request, response, status, isAnswered, elapsedMs, bytesBefore }: EndedRequest): RequestFacts {
  const { id, method, bearer, raw } = request;
  const { url, isStream } = templateOf(request);
  const bytesIn = announcedBytes(raw);
  return {
    request_id: id,
    method,
    route: url ?? null,
    path: isFound(url, status) ? null : shownPath(raw.url ?? ''),
    status: response.headersSent ? status : null,
    aborted: !isAnswered && !isStream,
    code: request.refusedWith,
    duration_ms: Math.round(elapsedMs * 10) / 10,
    bytes_in: Number.isFinite(bytesIn) ? bytesIn : null,
    bytes_out: bytesWrittenOf(response) - bytesBefore,
    user_id: bearer?.user ?? null,
    client_id: bearer?.client ?? null,
    token_id: bearer?.tokenId ?? null,
  };
}

/** The template of a route says which ids a request named badly, without naming them; `/docs/*` says nothing. */
function isFound(template: string | undefined, status: number): boolean {
  return template !== undefined && !(status === 404 && template.endsWith('*'));
}
