import { pointer, Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';

export function notFound(name: string): Refusal {
  return new Refusal('source_not_found', `there is no source ${quoted(name)}`);
}

export function groupsArePaged(): Refusal {
  const detail = 'cannot be bulk_only when the data belongs to groups';
  return new Refusal('invalid_value', `sync_type ${detail}`, [{ pointer: pointer('sync_type'), detail }]);
}
