import { closed, count, flag, moment, nullableMoment, nullableSeq, nullableText, text, texts } from '../annotated.ts';
import { PartialError } from '../schemas.ts';
import { Outcome } from '../sync-schemas.ts';
import { type Static, Type } from '../typebox.ts';
import { CLIENT_ID } from './examples.ts';
import { ListedFile } from './files.ts';

const BehindDevice = Type.Object(
  {
    client_id: text('The id of the device.', CLIENT_ID),
    user_id: text('The user of the device.', 'anna'),
    acknowledged: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The seq up to which the device holds every change; null: it is starting over.',
      examples: [1040],
    }),
    missing: count('Changes after that; of a device that starts over, the objects of the source.', 2),
    last_contact: moment('When the device was last seen.'),
  },
  { ...closed, title: 'BehindDevice', description: 'A device that has not acknowledged the seq.' },
);

/** Which devices have acknowledged a push. */
export const Receipt = Type.Object(
  {
    source: text('The source.', 'Product'),
    user_id: nullableText('Whose devices are counted; null: all devices.', null),
    group: Type.Optional(text('The group whose devices are counted.', 'north')),
    seq: count('The seq that the receipt is about.', 1042),
    head: count('The newest seq of the source.', 1042),
    devices: count('All devices that are counted.', 100),
    delivered: count('Devices that have acknowledged the seq.', 97),
    behind: count('Devices that have synchronised the source, and not acknowledged the seq.', 2),
    never_synced: count('Devices that have never synchronised the source, or not since it or they were reset.', 1),
    oldest_behind_at: nullableMoment(
      'When the device that is furthest behind last synchronised the source; null: none is.',
    ),
    behind_devices: Type.Array(BehindDevice, { description: 'A page of the devices behind, the furthest first.' }),
    files_missing: count('Files that objects of the source refer to and that have not arrived at the server.', 0),
    next: nullableText('Send it as `after` for the next page; null: there is none.', null),
    active_delivered: Type.Optional(
      flag('Only with `wait_s`: true if all devices have it that were seen in the last 24 hours.'),
    ),
  },
  { ...closed, title: 'Receipt', description: 'Which devices have acknowledged a push.' },
);
export type Receipt = Static<typeof Receipt>;

/** What `explain` can find. docs/operating/explain.md says what each means. */
const VERDICTS = [
  ...['current', 'behind', 'pending', 'unconfirmed', 'deleted', 'deletion_pending', 'device_away', 'starting_over'],
  ...['never_synced', 'other_epoch', 'wiped', 'upload_queued', 'upload_rejected', 'other_partition'],
  ...[
    'refresh_failing',
    'not_in_backend',
    'connector_behind',
    'file_not_uploaded',
    'trimmed_or_never_existed',
    'never_existed',
  ],
];

const Trouble = Type.Union([PartialError, Type.Null()], {
  description: 'What went wrong; null: nothing.',
  examples: [null],
});

/** Why a device holds an object, or does not. */
export const Explanation = Type.Object(
  {
    verdict: Type.Enum(VERDICTS, { description: 'The verdict; docs/operating/explain.md lists them.' }),
    sentence: text('What is the case.', 'The device holds object "1" of "Product" in its current version.'),
    remedy: text('What to do about it; empty: nothing.', ''),
    attributes: texts('Attributes that the device holds in an older version.', ['price']),
    evidence: Type.Object(
      {
        group: nullableText(
          'The group in which the object was looked for; null: the data of the source does not belong to groups.',
          'north',
        ),
        object_seq: nullableSeq('The seq of the last change of the object; null: the source does not have it.'),
        changed_at: nullableMoment('When the object last changed or was deleted, at the earliest; null: unknown.'),
        changed_by: nullableMoment('The same, at the latest.'),
        behind_since: nullableMoment(
          'When the oldest change was committed that the device has not acknowledged; null: none, or unknown.',
        ),
        head: count('The newest seq of the source.', 1042),
        floor: count('The seq up to which tombstones are trimmed.', 900),
        acknowledged: nullableSeq('The seq up to which the device holds every change; null: nothing.'),
        sent: nullableSeq('The seq up to which the device was sent everything, and has not confirmed it; null: none.'),
        catching_up_at: nullableSeq('How far the pages of an incomplete catch-up went; null: there is none.'),
        last_contact: moment('When the device was last seen; before its first pull, when it signed in first.'),
        upload: Type.Union(
          [Type.Object({ status: text('Its status.', 'rejected'), error: Trouble }, closed), Type.Null()],
          {
            description:
              'The last upload of this device to the object, unless it was applied or acknowledged; null: none.',
          },
        ),
        refreshed_at: nullableMoment('When the source was last refreshed from its backend.'),
        refresh_error: Trouble,
        missing_files: Type.Array(ListedFile, {
          description:
            'Files that the object refers to and that have not arrived, those that are missing longest first.',
        }),
      },
      { ...closed, description: 'What the verdict is based on.' },
    ),
  },
  { ...closed, title: 'Explanation', description: 'Why a device holds an object, or does not.' },
);
export type Explanation = Static<typeof Explanation>;

/** How far a device is with one source. */
export const SourceSync = Type.Object(
  {
    source: text('The source.', 'Product'),
    group: Type.Optional(text('The group, if the data of the source belongs to groups.', 'north')),
    acknowledged: nullableSeq('The seq up to which the device holds every change; null: nothing.'),
    head: count('The newest seq of the source.', 1042),
    waiting: nullableSeq('Changes after that; null: the device starts over.'),
    objects: count('Objects of the source.', 250),
    next_page_bytes: count('The size of the page that the device gets next.', 512),
    last_pull: nullableMoment('When the device last pulled the source.'),
    error: Trouble,
    uploads_waiting: count('Uploads of the device that are queued.', 0),
    last_outcomes: Type.Array(Outcome, { description: 'Outcomes that the device has not acknowledged.' }),
  },
  { ...closed, title: 'SourceSync', description: 'How far a device is with one source.' },
);
export type SourceSync = Static<typeof SourceSync>;

export const ClientSync = Type.Object(
  {
    online: flag('Whether the device listens for events now, at any server. A device that only polls is never online.'),
    sources: Type.Array(SourceSync, { description: 'All sources.' }),
    files_missing: Type.Array(ListedFile, {
      description:
        'Files that the device has referred to and that have not arrived, those that are missing longest first; up to 100.',
    }),
  },
  { ...closed, title: 'ClientSync', description: 'How far a device is with each source.' },
);
export type ClientSync = Static<typeof ClientSync>;
