/**
 * The class of an IP address. `forbidden`: link-local, metadata services, unspecified, multicast and reserved addresses. No
 * backend has such an address, and calling one could reveal secrets.
 */
export type AddressClass = 'public' | 'private' | 'loopback' | 'forbidden';

/** Classifies an IPv4 or IPv6 address in any spelling. Returns null when the text is not an address. */
export function addressClass(address: string): AddressClass | null {
  const host = hostOf(address);
  if (host === null) return null;
  if (host.startsWith('[')) return classOfIpv6(groupsOf(host));
  const value = ipv4Value(host);
  return value === null ? null : classOfIpv4(value);
}

/** Lets the URL parser normalise the spelling: decimal, octal and hexadecimal IPv4, every way to shorten IPv6. */
function hostOf(address: string): string | null {
  const [plain = ''] = address.replace(/^\[|\]$/g, '').split('%');
  const url = `http://${plain.includes(':') ? `[${plain}]` : plain}/`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}

type Block = readonly [first: string, bits: number, class_: AddressClass];

/** The first block that contains an address decides; an address in none is public. */
const IPV4_BLOCKS: readonly Block[] = [
  ['0.0.0.0', 8, 'forbidden'],
  ['169.254.0.0', 16, 'forbidden'],
  // Metadata services that live outside the link-local block: Alibaba, Oracle, Azure.
  ['100.100.100.200', 32, 'forbidden'],
  ['192.0.0.192', 32, 'forbidden'],
  ['168.63.129.16', 32, 'forbidden'],
  // Multicast, reserved and broadcast.
  ['224.0.0.0', 3, 'forbidden'],
  ['127.0.0.0', 8, 'loopback'],
  ['10.0.0.0', 8, 'private'],
  ['172.16.0.0', 12, 'private'],
  ['192.168.0.0', 16, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['198.18.0.0', 15, 'private'],
];

function classOfIpv4(value: number): AddressClass {
  const block = IPV4_BLOCKS.find(([first, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(value / size) === Math.floor((ipv4Value(first) ?? 0) / size);
  });
  return block?.[2] ?? 'public';
}

function ipv4Value(text: string): number | null {
  const bytes = text.split('.').map(Number);
  if (bytes.length !== 4 || bytes.some((byte) => !Number.isInteger(byte))) return null;
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** The eight groups of an address the URL parser has normalised. */
function groupsOf(host: string): readonly number[] {
  const [left = '', right] = host.slice(1, -1).split('::');
  const before = parsedGroups(left);
  const after = right === undefined ? [] : parsedGroups(right);
  const zeros = new Array<number>(8 - before.length - after.length).fill(0);
  return [...before, ...zeros, ...after];
}

function parsedGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** Metadata services of AWS and Google, which live in the private block. */
const IPV6_METADATA: ReadonlySet<string> = new Set(['fd00:ec2:0:0:0:0:0:254', 'fd20:ce:0:0:0:0:0:254']);

function classOfIpv6(groups: readonly number[]): AddressClass {
  const embedded = embeddedIpv4(groups);
  if (embedded !== null) return classOfIpv4(embedded);
  const [first = 0] = groups;
  if (groups.slice(0, 7).every((group) => group === 0)) return groups[7] === 1 ? 'loopback' : 'forbidden';
  if (IPV6_METADATA.has(groups.map((group) => group.toString(16)).join(':'))) return 'forbidden';
  if ((first & 0xff00) === 0xff00 || (first & 0xffc0) === 0xfe80) return 'forbidden';
  if ((first & 0xfe00) === 0xfc00 || (first & 0xffc0) === 0xfec0) return 'private';
  return 'public';
}

/** The IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64), 6to4 or Teredo. */
function embeddedIpv4(groups: readonly number[]): number | null {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const last = g * 0x10000 + h;
  const startsWithZeros = (a | b | c | d) === 0;
  if (startsWithZeros && e === 0 && f === 0xffff) return last;
  if (startsWithZeros && e === 0xffff && f === 0) return last;
  if (startsWithZeros && (e | f) === 0 && last > 0xffff) return last;
  if (a === 0x64 && b === 0xff9b) return last;
  if (a === 0x2002) return b * 0x10000 + c;
  if (a === 0x2001 && b === 0) return 0xffff_ffff - last;
  return null;
}
