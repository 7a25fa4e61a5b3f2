import { pointer, Refusal } from '@tidemark/protocol';

/** Returns `after` and `limit` of a query; the core checks the limit. */
export function pageOf(query: { readonly after?: string; readonly limit?: string }): {
  after?: string;
  limit?: number;
} {
  const { after, limit } = query;
  return {
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit: wholeNumber('limit', limit) }),
  };
}

/** Reads a number of a query. */
export function wholeNumber(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  const detail = 'must be a whole number';
  throw new Refusal('invalid_request', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}
