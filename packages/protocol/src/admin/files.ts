import { closed, count, flag, moment, nullableMoment, nullableText, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

const SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const sha256 = text('The SHA-256 of the bytes, as 64 lower-case hex digits.', SHA256);
const size = count('In bytes.', 3_145_728);

/** What a stored file is called in an attribute. */
export const FileReferenceValue = Type.Object(
  {
    $file: Type.Object(
      {
        sha256,
        size,
        type: text('The media type.', 'image/jpeg'),
        name: Type.Optional(text('What people call the file.', 'bow.jpg')),
      },
      { ...closed, description: 'Names the file by its content.' },
    ),
  },
  { ...closed, title: 'FileReferenceValue', description: 'The value of an attribute that refers to the file.' },
);
export type FileReferenceValue = Static<typeof FileReferenceValue>;

const FileDevice = Type.Object(
  {
    user_id: text('The user of the device.', 'anna'),
    client_id: text('The device.', '5Zk0Hk4Hq5wT8fWv0m3rXs'),
  },
  { ...closed, title: 'FileDevice', description: 'A device that has the bytes of a file.' },
);

/** A file as a list shows it. */
export const ListedFile = Type.Object(
  {
    sha256,
    size,
    type: nullableText('The media type that an object says; null: no object refers to the file.', 'image/jpeg'),
    name: nullableText('The name that an object says; null: it says none.', 'bow.jpg'),
    is_stored: flag('False: objects refer to it, and its bytes have not arrived.'),
    stored_at: nullableMoment('When its bytes were stored; null: they are not.'),
    missing_since: nullableMoment('Since when objects refer to bytes that have not arrived; null: none does.'),
    references: count('How many objects refer to it; of each partition, up to 1,000 are counted.', 1),
    senders: Type.Array(nullableText('A login; null: the backend.', 'anna'), {
      description: 'Who has sent its bytes, up to 100 of them.',
      examples: [['anna', null]],
    }),
    devices: Type.Array(FileDevice, {
      description: 'The devices that refer to it while its bytes have not arrived: they have them.',
    }),
  },
  { ...closed, title: 'ListedFile', description: 'A file that is stored, or that an object refers to.' },
);
export type ListedFile = Static<typeof ListedFile>;

const next = (example: string) =>
  nullableText('Send it as `after` for the next page; null: this is the last.', example);

export const FileList = Type.Object(
  {
    files: Type.Array(ListedFile, { description: 'Files, in an order that does not change.' }),
    next: next(SHA256),
  },
  { ...closed, title: 'FileList', description: 'A page of files.' },
);
export type FileList = Static<typeof FileList>;

export const ClientFiles = Type.Object(
  {
    files: Type.Array(ListedFile, { description: 'Files, those that wait longest first.' }),
    is_whole: flag('False: there are more of them.'),
  },
  { ...closed, title: 'ClientFiles', description: 'The files that are still only on a device.' },
);
export type ClientFiles = Static<typeof ClientFiles>;

/** How much is stored, and what has not arrived. */
export const FileUsage = Type.Object(
  {
    files: count('How many files are stored.', 1_200),
    bytes: count('Bytes of all stored files.', 3_600_000_000),
    missing: count('How many files objects refer to whose bytes have not arrived.', 3),
    oldest_missing_since: nullableMoment('Since when the first of them is missing; null: none is.'),
    size_max: count('The largest file that is taken, in bytes.', 1_073_741_824),
    quota_bytes: count('How many bytes of files one user may have sent.', 10_737_418_240),
  },
  { ...closed, title: 'FileUsage', description: 'How much files take, and what has not arrived.' },
);
export type FileUsage = Static<typeof FileUsage>;

export const FileUse = Type.Object(
  {
    source: text('The source of the object.', 'Inspection'),
    user: nullableText('Whose data it is; null: that of everybody, or of a group.', 'anna'),
    group: nullableText('The group whose data it is; null: it is not data of a group.', null),
    object_id: text('The id of the object.', '17'),
  },
  { ...closed, title: 'FileUse', description: 'An object that refers to a file.' },
);
export type FileUse = Static<typeof FileUse>;

export const FileUses = Type.Object(
  {
    objects: Type.Array(FileUse, { description: 'Objects that refer to the file.' }),
    next: next('Inspection/anna/17'),
  },
  { ...closed, title: 'FileUses', description: 'A page of the objects that refer to a file.' },
);
export type FileUses = Static<typeof FileUses>;

export const FileCheck = Type.Object(
  {
    sha256,
    size,
    is_intact: flag('True: all bytes are there and have the hash.'),
    problem: nullableText('`missing`: the bytes are gone; `damaged`: they have another hash. Null: none.', null),
    checked_at: moment('When the bytes were read.'),
  },
  { ...closed, title: 'FileCheck', description: 'What the server found when it read a file again.' },
);
export type FileCheck = Static<typeof FileCheck>;
