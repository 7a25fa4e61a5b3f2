import { openApnsStandIn } from '@tidemark/testing';

/** The stand-in of APNs in a process of its own, so that it takes nothing away from who is measured. */
export interface ApnsIdentity {
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly topics: readonly string[];
}

export interface ApnsCounts {
  readonly taken: number;
  readonly connectionsMostAtOnce: number;
  /** From the first request to the last since this was last asked for. */
  readonly tookMs: number;
}

export type FromApns = { readonly kind: 'ready'; readonly origin: string } | ({ readonly kind: 'counts' } & ApnsCounts);
export type ToApns = { readonly kind: 'open'; readonly identity: ApnsIdentity } | { readonly kind: 'count' };

function tell(message: FromApns): void {
  process.send?.(message);
}

let counts: () => ApnsCounts = () => ({ taken: 0, connectionsMostAtOnce: 0, tookMs: 0 });

process.on('message', async (message: ToApns) => {
  if (message.kind === 'count') {
    tell({ kind: 'counts', ...counts() });
    return;
  }
  let firstMs = 0;
  let lastMs = 0;
  const behave = () => {
    lastMs = performance.now();
    firstMs ||= lastMs;
    return { status: 200 };
  };
  const service = await openApnsStandIn({ ...message.identity, isForgetful: true, behave });
  counts = () => {
    const tookMs = lastMs - firstMs;
    firstMs = 0;
    return { taken: service.takenCount, connectionsMostAtOnce: service.connectionsMostAtOnce, tookMs };
  };
  tell({ kind: 'ready', origin: service.origin });
});

// Nobody is left to talk to.
process.on('disconnect', () => process.exit(0));
