import type { ObjectList } from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { DocumentScope } from '../ports/store.ts';

const server: DocumentScope = { kind: 'server' };
const objectsOf = (objects: Record<string, string>) => ({ type: 'objects', objects: new Map(Object.entries(objects)) });

describe('named documents', () => {
  it('[DOC-1] a document is a string or a hash of hashes, and setting it replaces the old content', async () => {
    const { tidemark } = await newTidemark();
    expect(await tidemark.documents.write(server, 'd', { data: 'hello' })).toEqual({ doc: 'd', type: 'text', size: 5 });
    expect(await tidemark.documents.read(server, 'd')).toEqual({ type: 'text', text: 'hello' });
    expect(await tidemark.documents.write(server, 'd', { data: { 1: { a: 1 }, 2: {} } })).toEqual({
      doc: 'd',
      type: 'objects',
      size: 2,
    });
    expect(await tidemark.documents.read(server, 'd')).toEqual(objectsOf({ 1: '{"a":1}', 2: '{}' }));
    await tidemark.documents.write(server, 'd', { data: '' });
    expect(await tidemark.documents.read(server, 'd')).toEqual({ type: 'text', text: '' });
  });

  it('[DOC-2] appending concatenates strings and merges hashes object by object, attribute by attribute', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.documents.write(server, 't', { data: 'a', append: true });
    for (const data of ['b', '', 'ç😀']) await tidemark.documents.write(server, 't', { data, append: true });
    expect(await tidemark.documents.read(server, 't')).toEqual({ type: 'text', text: 'abç😀' });
    await tidemark.documents.write(server, 'h', { data: { 1: { a: 1, b: 1 } }, append: true });
    const report = await tidemark.documents.write(server, 'h', { data: { 1: { b: 2 }, 2: { c: 3 } }, append: true });
    expect(report).toEqual({ doc: 'h', type: 'objects', size: 2 });
    expect(await tidemark.documents.read(server, 'h')).toEqual(objectsOf({ 1: '{"a":1,"b":2}', 2: '{"c":3}' }));
  });

  it('[DOC-2] concurrent appends are all applied exactly once', async () => {
    const { tidemark } = await newTidemark();
    const words = Array.from({ length: 16 }, (_, index) => `<${index}>`);
    await Promise.all(words.map((data) => tidemark.documents.write(server, 't', { data, append: true })));
    const view = await tidemark.documents.read(server, 't');
    if (view.type !== 'text') throw new Error('not a text');
    expect(words.every((word) => view.text.split(word).length === 2)).toBe(true);
    expect(view.text.length).toBe(words.join('').length);
  });

  it('[DOC-3] appending objects to a string, or a string to objects, is refused and changes nothing', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.documents.write(server, 't', { data: 'a' });
    expect(await refusalOf(tidemark.documents.write(server, 't', { data: { 1: { a: 1 } }, append: true }))).toBe(
      'type_conflict',
    );
    expect(await tidemark.documents.read(server, 't')).toEqual({ type: 'text', text: 'a' });
    await tidemark.documents.write(server, 'h', { data: {} });
    expect(await refusalOf(tidemark.documents.write(server, 'h', { data: 'x', append: true }))).toBe('type_conflict');
    expect(await tidemark.documents.read(server, 'h')).toEqual(objectsOf({}));
  });

  it('[DOC-4] reading a missing document, and writing an invalid or too large one, is refused', async () => {
    const { tidemark } = await newTidemark({ limits: { documentUnitsMax: 10 } });
    expect(await refusalOf(tidemark.documents.read(server, 'nope'))).toBe('doc_not_found');
    for (const name of ['*', '', '__proto__'])
      expect(await refusalOf(tidemark.documents.read(server, name))).toBe('invalid_name');
    for (const data of [1, null, [], { 1: 'x' }]) {
      expect(await refusalOf(tidemark.documents.write(server, 'd', { data }))).toBe('invalid_request');
    }
    expect(await refusalOf(tidemark.documents.write(server, 'd', { data: '\ud800' }))).toBe('invalid_value');
    await tidemark.documents.write(server, 'd', { data: 'x'.repeat(10) });
    expect(await refusalOf(tidemark.documents.write(server, 'd', { data: 'x'.repeat(11) }))).toBe('document_too_large');
    expect(await refusalOf(tidemark.documents.write(server, 'd', { data: 'x', append: true }))).toBe(
      'document_too_large',
    );
    expect(await tidemark.documents.read(server, 'd')).toEqual({ type: 'text', text: 'x'.repeat(10) });
    await tidemark.documents.write(server, 'h', { data: { 1: { a: 1 } } });
    expect(await refusalOf(tidemark.documents.write(server, 'h', { data: { 2: { a: 1 } }, append: true }))).toBe(
      'document_too_large',
    );
    expect(await refusalOf(tidemark.documents.write(server, 'h', { data: { 1: { a: 12345678 } } }))).toBe(
      'document_too_large',
    );
  });

  it('[DOC-5] every scope has its own documents, and its source and user must exist', async () => {
    const { tidemark } = await newTidemark();
    const { client_id } = await tidemark.clients.register('ada', {});
    const scopes: DocumentScope[] = [
      server,
      { kind: 'shared', source: 'Product' },
      { kind: 'user', source: 'Order', user: 'ada' },
      { kind: 'user', source: 'Order', user: 'bob' },
      { kind: 'user', source: 'Product', user: 'ada' },
      { kind: 'client', source: 'Order', client: client_id },
    ];
    for (const [index, scope] of scopes.entries()) await tidemark.documents.write(scope, 'd', { data: String(index) });
    for (const [index, scope] of scopes.entries()) {
      expect(await tidemark.documents.read(scope, 'd')).toEqual({ type: 'text', text: String(index) });
    }
    const strangers: [DocumentScope, string][] = [
      [{ kind: 'shared', source: 'X' }, 'source_not_found'],
      [{ kind: 'user', source: 'Order', user: 'eve' }, 'user_not_found'],
      [{ kind: 'client', source: 'Order', client: 'x' }, 'client_not_found'],
      [{ kind: 'user', source: 'Order', user: '*' }, 'invalid_name'],
    ];
    for (const [scope, code] of strangers) {
      expect(await refusalOf(tidemark.documents.write(scope, 'd', { data: 'x' }))).toBe(code);
      expect(await refusalOf(tidemark.documents.read(scope, 'd'))).toBe(code);
      expect(await refusalOf(tidemark.documents.names(scope))).toBe(code);
    }
  });

  it('[DOC-6] the document md is the objects of the partition: setting replaces them, appending merges', async () => {
    const { tidemark } = await newTidemark();
    const scope: DocumentScope = { kind: 'user', source: 'Order', user: 'ada' };
    expect(await tidemark.documents.read(scope, 'md')).toEqual(objectsOf({}));
    expect(await tidemark.documents.write(scope, 'md', { data: { 1: { a: 1 }, 2: { a: 2 } } })).toEqual({
      doc: 'md',
      type: 'objects',
      size: 2,
    });
    await tidemark.documents.write(scope, 'md', { data: { 2: { b: 2 } }, append: true });
    expect(await tidemark.documents.read(scope, 'md')).toEqual(objectsOf({ 1: '{"a":1}', 2: '{"a":2,"b":2}' }));
    await tidemark.documents.write(scope, 'md', { data: { 3: { a: 3 } } });
    expect(await tidemark.objects.read({ source: 'Order', user_id: 'ada' })).toEqual(new Map([['3', { a: 3 }]]));
    expect(await refusalOf(tidemark.documents.write(scope, 'md', { data: 'text' }))).toBe('type_conflict');
    await tidemark.documents.write(scope, 'zebra', { data: '' });
    expect(await tidemark.documents.names(scope)).toEqual(['md', 'zebra']);
    await tidemark.documents.write({ kind: 'shared', source: 'Product' }, 'md', { data: { p: { a: 1 } } });
    expect(await tidemark.objects.read({ source: 'Product' })).toEqual(new Map([['p', { a: 1 }]]));
  });

  it('[DOC-7] every listed document can be read: a source with data per user lists no shared md', async () => {
    const { tidemark } = await newTidemark();
    const shared: DocumentScope = { kind: 'shared', source: 'Order' };
    expect(await tidemark.documents.names(shared)).toEqual([]);
    expect(await refusalOf(tidemark.documents.read(shared, 'md'))).toBe('doc_not_found');
    expect(await refusalOf(tidemark.documents.write(shared, 'md', { data: {} }))).toBe('doc_not_found');
    await tidemark.documents.write(shared, 'notes', { data: 'x' });
    const scopes: DocumentScope[] = [
      shared,
      { kind: 'shared', source: 'Product' },
      { kind: 'user', source: 'Product', user: 'ada' },
      { kind: 'user', source: 'Order', user: 'ada' },
    ];
    for (const scope of scopes) {
      for (const name of await tidemark.documents.names(scope)) await tidemark.documents.read(scope, name);
    }
  });

  it('[DOC-8] objects that do not change meanwhile are listed exactly once, whatever the page size, and deleted ones never', async () => {
    const { tidemark } = await newTidemark();
    const call = { source: 'Order', user_id: 'ada' };
    const scope: DocumentScope = { kind: 'user', source: 'Order', user: 'ada' };
    const ids = Array.from({ length: 25 }, (_, index) => `o${index}`);
    await tidemark.objects.push({ ...call, objects: Object.fromEntries(ids.map((id) => [id, { a: 1 }])) });
    await tidemark.objects.pushDeletes({ ...call, objects: ['o3', 'o24'] });
    await tidemark.objects.push({ ...call, objects: { o5: { __proto__: 1, b: 2 } } });
    for (const limit of [1, 7, 1_000]) {
      const seen: string[] = [];
      for (let after: ObjectList['next'] = 0; after !== null; ) {
        const page = JSON.parse(
          await tidemark.documents.listObjects(scope, { after: String(after), limit }),
        ) as ObjectList;
        seen.push(...page.objects.map(({ id }) => id));
        after = page.next;
      }
      expect(seen).toEqual([...ids.filter((id) => !['o3', 'o5', 'o24'].includes(id)), 'o5']);
    }
    expect(await refusalOf(tidemark.documents.listObjects(scope, { from: 'o3' }))).toBe('object_not_found');
    expect(await refusalOf(tidemark.documents.listObjects({ ...scope, source: 'None' }, {}))).toBe('source_not_found');
  });
});
