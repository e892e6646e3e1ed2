/** Reads how many connections the server allows to this user and database. */
import type { Db } from '../../database/db.ts'

const limit = {
  name: '',
  text: `
    select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
      (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
      (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
    )::int as allowed`,
}

export async function readConnectionLimit(db: Db): Promise<number> {
  const [row] = await db.run<{ allowed: number }>(limit, [], 10_000)
  return row!.allowed
}
