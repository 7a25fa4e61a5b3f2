import type { Exchange } from '../conformance-case.ts';
import { MOMENT } from '../matcher.ts';
import { json, path, post } from '../requests.ts';

/** Exchanges that create what a case needs. Each of them checks the whole answer. */

export const PASSWORD = 'a password of nobody else';

export function userView(login: string, attributes: Readonly<Record<string, unknown>> = {}, clients = 0) {
  return { login, attributes, clients, identity: null, created_at: MOMENT, updated_at: MOMENT };
}

export function aUser(login: string, attributes: Readonly<Record<string, unknown>> = {}): Exchange {
  return [
    post('/rc/v1/users', { attributes: { login, password: PASSWORD, ...attributes } }),
    json(userView(login, attributes)),
  ];
}

export function sourceView(name: string, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    name,
    poll_interval: -1,
    partition_type: 'user',
    sync_type: 'incremental',
    queue: null,
    query_queue: null,
    cud_queue: null,
    adapter: 'none',
    conflicts: 'last_writer',
    read_only: false,
    filling: false,
    references: {},
    push_notify: false,
    schema: null,
    configured: false,
    created_at: MOMENT,
    updated_at: MOMENT,
    updated_by: null,
    counts: { objects: changes.partition_type === 'app' ? 0 : null },
    ...changes,
  };
}

export function aSource(name: string, changes: Readonly<Record<string, unknown>> = {}): Exchange {
  return [post('/rc/v1/sources', { name, ...changes }), json(sourceView(name, changes))];
}

export function push(source: string, operation: string): string {
  return `${path`/app/v1/${source}/`}${operation}`;
}

export function mdOf(user: string, source: string): string {
  return path`/rc/v1/users/${user}/sources/${source}/docs/md`;
}

/** Returns a device as `GET client` returns it. */
export function clientView(id: string, user: string, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    client_id: id,
    user_id: user,
    device_type: null,
    device_pin: null,
    device_port: null,
    device_push_type: null,
    device_app_id: null,
    device_app_version: null,
    phone_id: null,
    device_name: null,
    device_platform: null,
    device_system: null,
    schema_versions: null,
    label: null,
    last_sync: null,
    created_at: MOMENT,
    wipe: null,
    cursors: {},
    ...changes,
  };
}
