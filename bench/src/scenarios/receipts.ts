import type { Store } from '@tidemark/core';
import { sharedPartition } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey, temporaryFolder } from '@tidemark/testing';
import { SOURCE, tidemarkOn } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const DEVICES = 100_000;
const BEHIND = 40;
const BATCH = 1_000;
const ROUNDS = 15;
const RECEIPT_MS_MAX = 200;
const EXPLAIN_MS_MAX = 5;
const PARTITION = sharedPartition(SOURCE);

/** The receipt of a shared source that 100,000 devices follow, and an explanation, on both engines. */
export async function receipts(say: (line: string) => void): Promise<readonly Row[]> {
  const folder = await temporaryFolder();
  const embedded = await openEmbeddedStore({ folder: folder.path });
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const valkey = await openValkeyStore({ address: server.address, answerMs: 60_000 });
  try {
    return [...(await measure('embedded', embedded, say)), ...(await measure('Valkey', valkey, say))];
  } finally {
    await Promise.all([embedded.close(), valkey.close()]);
    await Promise.all([folder.remove(), server.remove()]);
  }
}

async function measure(engine: string, store: Store, say: (line: string) => void): Promise<readonly Row[]> {
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
  await tidemark.objects.push({ source: SOURCE, objects: { 1: { a: 1 } } });
  await tidemark.objects.push({ source: SOURCE, objects: { 2: { a: 1 } } });
  say(`${DEVICES} devices on ${engine}`);
  await fill(store);
  const receiptMs = await medianMs(async () => {
    const { delivered, behind } = await tidemark.receipts.read({ source: SOURCE });
    if (delivered !== DEVICES - BEHIND || behind !== BEHIND)
      throw new Error(`${delivered} delivered, ${behind} behind`);
  });
  const explainMs = await medianMs(async () => {
    const { verdict } = await tidemark.delivery.explain('device 0', SOURCE, '2');
    if (verdict !== 'pending') throw new Error(`explained as ${verdict}`);
  });
  return [
    row(`receipt of ${DEVICES} devices, ${BEHIND} behind, ${engine}`, receiptMs, RECEIPT_MS_MAX),
    row(`explain, ${engine}`, explainMs, EXPLAIN_MS_MAX),
  ];
}

/** Devices and their tidemarks, written directly: registering and pulling so many would take minutes. */
async function fill(store: Store): Promise<void> {
  const { epoch, head } = await store.partition(PARTITION);
  const nowMs = Date.now();
  const device = { user: 'ada', device: {}, createdAtMs: nowMs, lastSyncMs: nowMs, restarts: {} };
  for (let from = 0; from < DEVICES; from += BATCH) {
    const clients = Array.from({ length: BATCH }, (_, index) => `device ${from + index}`);
    const value = JSON.stringify(device);
    await store.writeEntries({
      writes: clients.map((client) => ({ kind: 'client', key: [client], value })),
      guards: [],
    });
    await Promise.all(
      clients.map((client, index) => {
        const base = from + index < BEHIND ? head - 1 : head;
        return store.noteTidemark(PARTITION, { client, epoch, seq: base, base, start: null, seenAtMs: nowMs }, []);
      }),
    );
  }
}

async function medianMs(call: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startMs = performance.now();
    await call();
    times.push(performance.now() - startMs);
  }
  return median(times);
}

function row(name: string, tookMs: number, maxMs: number): Row {
  const bound = { atMost: 1 };
  return { name, measured: `${tookMs.toFixed(2)} ms`, against: `${maxMs} ms allowed`, ratio: tookMs / maxMs, bound };
}
