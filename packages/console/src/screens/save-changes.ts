import { type ApiCall, pushCurl } from '../api/curl.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import type { Change } from './object-difference.ts';
import { ownerBody, ownerOptions } from './object-owner.ts';

/** Saves only what differs, so that changes that others make meanwhile stay. */
export function saving(owner: ObjectOwner, id: string, difference: readonly Change[]): { call: ApiCall; curl: string } {
  const set = Object.fromEntries(difference.flatMap(({ name, after }) => (after === undefined ? [] : [[name, after]])));
  const removed = Object.fromEntries(
    difference.flatMap(({ name, before, after }) =>
      after === undefined && before !== undefined ? [[name, before]] : [],
    ),
  );
  const options = ownerOptions(owner);
  if (Object.keys(removed).length === 0) {
    return {
      call: (api) => api.push.objects(owner.source, { [id]: set }, options),
      curl: pushCurl(owner.source, { ...ownerBody(owner), objects: { [id]: set } }),
    };
  }
  const states = { previous: { [id]: removed }, next: { [id]: set } };
  return {
    call: (api) => api.push.fastUpdate(owner.source, states, options),
    curl: pushCurl(
      owner.source,
      { ...ownerBody(owner), delete_data: states.previous, data: states.next },
      'fast_update',
    ),
  };
}
