export type { RowProblem } from './apply/problems.ts';
export type { Catalogue } from './catalogue/catalogue.ts';
export { readCatalogue } from './catalogue/read-catalogue.ts';
export { checkDatabase } from './check/check-database.ts';
export type { Finding } from './check/finding.ts';
export { type Clock, systemClock } from './clock.ts';
export { Connector, type ConnectorOptions } from './connector.ts';
export { type ColumnsSchema, type MappedDatabase, schemaOfColumns } from './init/schema-of-columns.ts';
export { writeMapping } from './init/write-mapping.ts';
export type {
  DevicesMapping,
  Mapping,
  MembersMapping,
  OwnerMapping,
  TableMapping,
  UsersMapping,
  WritingMapping,
} from './mapping/mapping.ts';
export { MappingError } from './mapping/mapping-problems.ts';
export { parseMapping } from './mapping/parse-mapping.ts';
export { Reporter, type ReporterOptions } from './report/reporter.ts';
export type { ConnectorEvents, TableProgress } from './run/connector-events.ts';
export type { HealReason } from './run/start-reason.ts';
export { openSql, type Sql, type TransactionSql } from './sql/open-sql.ts';
export { type DatabaseAddress, parseDatabaseUrl } from './sql/parse-url.ts';
export { type ConnectorState, stateDocument, type TablePhase, type TableState } from './state/connector-state.ts';
export { loadWriteHooks } from './writing/load-write-hooks.ts';
export { RowBackend, type RowBackendOptions } from './writing/row-backend.ts';
export type { RowCall, WriteHook } from './writing/row-writer.ts';
