import { type Adapter, AdapterRefusal, type QueryAnswer } from '@tidemark/core';
import { type JsonValue, parseJson, Refusal } from '@tidemark/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';

/** How the backend behind the adapter answers. */
export type Behaviour = 'good' | 'conflict' | 'rejected' | 'broken' | 'no_id' | 'silent';

/** A call that reached the backend behind the adapter. */
export interface AdapterArrival {
  readonly call: string;
  readonly user: string | null;
  readonly opId?: string;
  readonly id?: string;
  readonly attributes?: JsonValue;
  readonly removed?: readonly string[];
  readonly params?: JsonValue;
}

/** An adapter with a backend that returns `ADAPTER_OBJECTS` and gives created objects the id `made`. */
export interface AdapterFixture {
  readonly adapter: Adapter;
  readonly arrivals: readonly AdapterArrival[];
  behave(behaviour: Behaviour): void;
  /** Advances the clock by the longest time that a call may take. */
  letTimePass(): void;
  close(): Promise<void>;
}

export const ADAPTER_OBJECTS = { '1': { name: 'one' }, 'zw"ei': { list: [1, { a: null }] } };

const UPLOAD = { source: 'Stock', user: 'anna', opId: 'op-1', id: 'tmp' } as const;

/** Registers the contract of the adapter port for one kind of adapter. */
export function adapterContract(kind: string, open: () => Promise<AdapterFixture>): void {
  const opened = async () => {
    const fixture = await open();
    onTestFinished(() => fixture.close());
    return fixture;
  };
  describe(`the adapter contract, ${kind}`, () => {
    it('[ADAPT-1] queries and searches return objects by id, for a user or for all users', async () => {
      const { adapter, arrivals } = await opened();
      expect(await objectsOf(await adapter.query({ source: 'Stock', user: null }))).toEqual(ADAPTER_OBJECTS);
      expect(await objectsOf(await adapter.query({ source: 'Stock', user: 'anna' }))).toEqual(ADAPTER_OBJECTS);
      const found = await adapter.search?.({ source: 'Stock', user: 'anna', params: { q: [1] } });
      expect(found === undefined ? null : await objectsOf(found)).toEqual(ADAPTER_OBJECTS);
      expect(arrivals).toEqual([
        { call: 'query', user: null },
        { call: 'query', user: 'anna' },
        { call: 'search', user: 'anna', params: { q: [1] } },
      ]);
    });

    it('[ADAPT-2] uploads arrive with their op id, and a create returns the id that the backend gave', async () => {
      const { adapter, arrivals } = await opened();
      expect(await adapter.create({ ...UPLOAD, attributes: { a: [1] } })).toBe('made');
      await adapter.update({ ...UPLOAD, id: 'made', attributes: { a: null }, removed: ['b'] });
      await adapter.delete({ ...UPLOAD, id: 'made' });
      expect(arrivals).toEqual([
        { call: 'create', user: 'anna', opId: 'op-1', id: 'tmp', attributes: { a: [1] } },
        { call: 'update', user: 'anna', opId: 'op-1', id: 'made', attributes: { a: null }, removed: ['b'] },
        { call: 'delete', user: 'anna', opId: 'op-1', id: 'made' },
      ]);
    });

    it('[ADAPT-3] a refused upload throws an AdapterRefusal with its kind and reason', async () => {
      const { adapter, behave } = await opened();
      for (const kindOf of ['conflict', 'rejected'] as const) {
        behave(kindOf);
        for (const call of uploadsOf(adapter)) {
          const error = await failureOf(call());
          expect(error).toBeInstanceOf(AdapterRefusal);
          expect(error).toMatchObject({ kind: kindOf, message: 'because' });
        }
      }
    });

    it('[ADAPT-4] a backend that fails or answers with nonsense causes an error that is no refusal', async () => {
      const { adapter, behave } = await opened();
      behave('broken');
      for (const call of [...uploadsOf(adapter), () => queried(adapter)]) {
        const error = await failureOf(call());
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(AdapterRefusal);
      }
      behave('no_id');
      expect(await failureOf(adapter.create({ ...UPLOAD, attributes: {} }))).toMatchObject({ code: 'backend_error' });
    });

    it('[ADAPT-5] a call to a silent backend ends with a timeout', async () => {
      const { adapter, behave, letTimePass, arrivals } = await opened();
      behave('silent');
      for (const call of [...uploadsOf(adapter), () => queried(adapter)]) {
        const before = arrivals.length;
        const ending = failureOf(call());
        while (arrivals.length === before) await new Promise((resolve) => setImmediate(resolve));
        letTimePass();
        const error = await ending;
        expect(error).toBeInstanceOf(Refusal);
        expect(error).toMatchObject({ code: 'backend_timeout' });
      }
    });
  });
}

function uploadsOf(adapter: Adapter): readonly (() => Promise<unknown>)[] {
  return [
    () => adapter.create({ ...UPLOAD, attributes: {} }),
    () => adapter.update({ ...UPLOAD, attributes: {}, removed: [] }),
    () => adapter.delete(UPLOAD),
  ];
}

async function queried(adapter: Adapter): Promise<unknown> {
  return objectsOf(await adapter.query({ source: 'Stock', user: null }));
}

async function objectsOf(answer: QueryAnswer): Promise<unknown> {
  if ('objects' in answer) return answer.objects;
  if ('isUnchanged' in answer) throw new Error('the adapter has no objects');
  let text = '';
  for await (const chunk of answer.chunks) text += chunk;
  return parseJson(text);
}

function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}
