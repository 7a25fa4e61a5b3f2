import { type ApiCall, pushCurl } from '../api/curl.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import { readObject } from './compare-import.ts';
import type { Change } from './object-difference.ts';
import { ownerBody, ownerOptions } from './object-owner.ts';
import { requireAsSeen } from './require-as-seen.ts';

interface Saving {
  readonly call: ApiCall;
  readonly curl: string;
}

/** Saves only what differs, so that changes that others make meanwhile stay, and only if the object is as it was seen. */
export function saving(owner: ObjectOwner, id: string, difference: readonly Change[], isNew = false): Saving {
  const { call, curl } = pushing(owner, id, difference);
  return {
    call: async (api) => {
      const now = await readObject(id, (options) => api.documents.objects(owner, options));
      requireAsSeen(now, { id, isNew, difference });
      return call(api);
    },
    curl,
  };
}

function pushing(owner: ObjectOwner, id: string, difference: readonly Change[]): Saving {
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
