import type { Job, JobPage, JobQueue, JobRemoved, JobRetried, JobState } from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';
import { type PageOptions, pageQuery } from '../paging.ts';

export interface InspectOptions extends PageOptions {
  /** Absent: dead jobs. */
  readonly state?: JobState;
}

/** Jobs in queues, and dead jobs. */
export class JobCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** Queues that have jobs or are paused. */
  queues(options?: CallOptions): Promise<readonly JobQueue[]> {
    return this.#api.get('/rc/v1/jobs', options);
  }

  queue(queue: string, options?: CallOptions): Promise<JobQueue> {
    return this.#api.get(path`/rc/v1/jobs/${queue}`, options);
  }

  /** Returns one page; `next` is the `after` of the following page. */
  inspect(queue: string, { state, ...page }: InspectOptions = {}): Promise<JobPage> {
    return this.#api.get(path`/rc/v1/jobs/${queue}/jobs`, page, { ...pageQuery(page), state });
  }

  get(queue: string, jobId: string, options?: CallOptions): Promise<Job> {
    return this.#api.get(path`/rc/v1/jobs/${queue}/jobs/${jobId}`, options);
  }

  /** Makes a dead job due again. */
  retry(queue: string, jobId: string, options?: CallOptions): Promise<JobRetried> {
    return this.#api.post(path`/rc/v1/jobs/${queue}/jobs/${jobId}/retry`, {}, 'harmful', options);
  }

  /** Deletes a job without running it. */
  remove(queue: string, jobId: string, options?: CallOptions): Promise<JobRemoved> {
    return this.#api.delete(path`/rc/v1/jobs/${queue}/jobs/${jobId}`, options);
  }

  pause(queue: string, options?: CallOptions): Promise<JobQueue> {
    return this.#api.post(path`/rc/v1/jobs/${queue}/pause`, {}, 'harmless', options);
  }

  resume(queue: string, options?: CallOptions): Promise<JobQueue> {
    return this.#api.post(path`/rc/v1/jobs/${queue}/resume`, {}, 'harmless', options);
  }
}
