export {
  Link,
  type Objects,
  openLink,
  type Partitions,
  type Servers,
  type Tables,
  useServers,
} from './postgres/link.ts';
export { openWrittenLink, WrittenLink, type WrittenLinkOptions } from './postgres/written-link.ts';
