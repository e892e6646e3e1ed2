/** Routes of guards: list the guards, and run a guard now. */
import { z } from 'zod'
import { localized } from '../../errors/errors.ts'
import type { GuardView } from '../../index.ts'
import { guardRunWire, guardWire } from '../../json-views.ts'
import { paged } from '../response/page-of-list.ts'
import { type Principal, type Route, route } from '../route.ts'
import { instant, pageOf, pageQuery } from '../shared-schemas.ts'

const guardError = z.object({ code: z.string(), message: z.string() })
const count = z.number().int()
const columns = z.record(z.string(), z.string().nullable())
const rowKey = z.unknown().meta({ description: "the row's key, as it is in its table" })

const guard = z
  .object({
    name: z.string(),
    table: z.string(),
    status: z.object({ column: z.string(), running: z.array(z.string().nullable()) }),
    signal: z.array(z.string()),
    set: columns.meta({
      description: 'the values that the guard writes to a lost row; now() is the instant of the mark',
    }),
    kind: z.string().nullable().meta({ description: 'the kind of the job that the guard enqueues for each row' }),
    after_ms: z.number(),
    every_ms: z.number(),
    last_sweep_at: instant.nullable(),
    last_marked: count.nullable().meta({ description: 'null: the guard is private, and only an admin sees counts' }),
    total: count.nullable(),
    last_error: guardError.nullable(),
    failing_since: instant.nullable(),
    warnings: z.array(z.string()),
    active: z.boolean(),
    late: z.boolean(),
    private: z
      .boolean()
      .meta({ description: 'only an admin sees the counts, the keys of the rows and the messages of errors' }),
  })
  .meta({ id: 'Guard' })

const run = z
  .object({
    name: z.string(),
    table: z.string(),
    dry_run: z.boolean(),
    marked: count.nullable().meta({ description: 'on a dry run, rows that would be marked' }),
    rows: z.array(z.object({ key: rowKey, signal_at: instant })),
    set: columns,
    jobs: count.nullable(),
    private: z
      .boolean()
      .meta({ description: 'true: `marked` and `jobs` are null, `rows` and `refused` are empty, except for an admin' }),
    refused: z.array(z.object({ key: rowKey, code: z.string(), message: z.string() })),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'GuardRun' })

/** The error of a row may contain values of the row, and a number would tell the work of another user. */
function viewFor({ role }: Principal, guard: GuardView) {
  if (!guard.private || role === 'admin') return guard
  const lastError = guard.lastError && {
    code: guard.lastError.code,
    ...localized('an admin sees the message', 'um admin vê a mensagem'),
  }
  return { ...guard, lastMarked: null, total: null, lastError }
}

export const guardRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/guards',
    name: 'listGuards',
    tag: 'guards',
    summary: 'Lists the guards by name, with the watched table and the last sweep',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(guard),
    async run({ engine, query, language, who }) {
      const { items, next } = paged(await engine.guards.list(), each => each.name, query)
      return { items: items.map(each => guardWire(viewFor(who, each), language)), next }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/guards/{name}/run',
    name: 'runGuard',
    tag: 'guards',
    summary: 'Sweeps the table of a guard now and marks the lost rows; with `dry_run` only lists the rows',
    role: 'operator',
    params: z.object({ name: z.string() }),
    body: z.strictObject({ dry_run: z.boolean().default(false) }).optional(),
    answer: run,
    errors: ['unknown_guard', 'guard_no_table', 'guard_no_column', 'guard_unfit', 'guard_no_rights', 'guard_slow'],
    async run({ engine, params, body, who, language }) {
      const found = await engine.guards.run(params.name, { by: who.user, dryRun: body?.dry_run ?? false })
      const isHidden = found.private && who.role !== 'admin'
      const shown = isHidden ? { ...found, marked: null, jobs: null, rows: [], refused: [] } : found
      return guardRunWire(shown, language)
    },
  }),
]
