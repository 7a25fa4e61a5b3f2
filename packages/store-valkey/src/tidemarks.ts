import { type DeviceTidemark, type NoteStore, scopeOf } from '@tidemark/core/ports';
import { AFTER_DIGITS, inclusive, keyOf, tidemarkRange } from './keys.ts';
import type { EngineContext } from './scope-access.ts';
import { noteTidemarkScript, tidemarksScript } from './scripts/devices.ts';
import { textOf } from './wire.ts';

export function tidemarks({
  scopes,
}: EngineContext): Pick<NoteStore, 'readTidemark' | 'listTidemarks' | 'noteTidemark'> {
  return {
    async readTidemark(key, client) {
      const values = { ...tidemarkRange(client), limit: 1 };
      const [, member] = await scopes.read({ scope: scopeOf(key), client, script: tidemarksScript, values });
      return member === undefined ? null : tidemarkFrom(textOf(member));
    },

    async listTidemarks(key, { after, limit }) {
      const values = { min: after === undefined ? '-' : afterClient(after.client), max: '+', limit };
      const [, ...members] = await scopes.read({ scope: scopeOf(key), script: tidemarksScript, values });
      return members.map((member) => tidemarkFrom(textOf(member)));
    },

    async noteTidemark(key, mark, guards, expect) {
      const { client } = mark;
      const written = await scopes.write({
        ...{ scope: scopeOf(key), client, guards, script: noteTidemarkScript },
        extraKey: (keys) => keys.clientFence(client),
        values: { ...tidemarkRange(client), expect: expectedMember(expect), member: tidemarkMember(mark) },
      });
      if (written.gone !== null) return { status: 'gone', guard: written.gone };
      return { status: textOf(written.reply[0]) === 'conflict' ? 'conflict' : 'written' };
    },
  };
}

/**
 * A tidemark is stored as one short text, since every device has one for each source: the encoded client and
 * seq.base.start.seen.epoch with numbers to the base 36, and nothing for null. What was sent and is not confirmed follows
 * the start behind a ~.
 */
export function tidemarkMember({ client, epoch, seq, base, start, sent, seenAtMs }: DeviceTidemark): string {
  const started = short(start) + (sent === undefined ? '' : `~${short(sent)}`);
  return keyOf(client) + [short(seq), short(base), started, short(seenAtMs), epoch].join('.');
}

export function tidemarkFrom(member: string): DeviceTidemark {
  const client = member.slice(0, member.indexOf('\0'));
  const text = member.slice(client.length + 1);
  const [seq = '', base = '', started = '', seen = '', ...epoch] = text.split('.');
  const [start = '', sent] = started.split('~');
  return {
    client,
    epoch: epoch.join('.'),
    seq: long(seq) ?? 0,
    base: long(base),
    start: long(start),
    ...(sent === undefined ? {} : { sent: long(sent) ?? 0 }),
    seenAtMs: long(seen) ?? 0,
  };
}

function expectedMember(expect: DeviceTidemark | null | undefined): string {
  if (expect === undefined) return 'any';
  return expect === null ? 'none' : tidemarkMember(expect);
}

/** The start of the range after the member of a client. */
function afterClient(client: string): string {
  return inclusive(keyOf(client) + AFTER_DIGITS);
}

function short(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function long(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
}
