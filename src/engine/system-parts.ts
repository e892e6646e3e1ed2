/**
 * Describes a system to the engine: a whole application with its jobs, batches, schedules, guards and limits, and with tables of its own.
 * `System` of retoma/http adds the routes.
 *
 * Invariant: a system with migrations has a name that is the name of its schema, and no other system has this name.
 */
import type { AnyBatch } from '../batches/model/batch.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Guard } from '../guards/model/guard.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { LimitsByQueue } from '../limits/model/queue-limits.ts'
import type { Schedule } from '../schedules/model/schedule.ts'
import type { Engine } from './engine-api.ts'

/** A system: an application with its jobs, limits and tables. */
export interface SystemParts {
  /** The name of the system, and of its schema if the system has migrations. */
  readonly name: string
  /** The jobs of the system. Default: none. */
  readonly jobs?: readonly AnyJob[]
  /** The batches of the system. Default: none. */
  readonly batches?: readonly AnyBatch[]
  /** The schedules of the system. Default: none. */
  readonly schedules?: readonly Schedule[]
  /** The guards of the system. Default: none. */
  readonly guards?: readonly Guard[]
  /** The limits of queues; an option of `createEngine` wins. Default: the stored limits. */
  readonly limits?: LimitsByQueue
  /**
   * The folder with the migrations of the system, `001_baseline.up.sql` and `001_baseline.down.sql` and so on. Their
   * tables are in the schema with the name of the system, which the engine creates. Default: the system has no
   * tables.
   */
  readonly migrations?: URL
  /**
   * Receives the engine before any part of the system runs: for jobs that need more than their context. Default:
   * nothing.
   */
  attach?(engine: Engine): void
  /**
   * The jobs that use the engine. A child has no engine, so such a job runs in the worker process even if it is to
   * run alone. Default: none.
   */
  readonly attached?: readonly AnyJob[]
}

const reserved = ['retoma', 'public', 'information_schema']

/** Throws `bad_option`. */
export function checkSystems(systems: readonly SystemParts[]): void {
  const names = new Set<string>()
  systems.forEach((system, index) => {
    const option = `systems[${index}]`
    if (typeof system?.name !== 'string')
      refuseOption(option, 'it is not a system: it has no name', 'não é um sistema: não tem nome')
    const { name, migrations } = system
    if (names.has(name))
      refuseOption(option, `there are two systems named "${name}"`, `há dois sistemas com o nome "${name}"`)
    names.add(name)
    if (migrations === undefined) return
    if (!(migrations instanceof URL) || migrations.protocol !== 'file:')
      refuseOption(`${option}.migrations`, 'it is the file: URL of a folder', 'é a URL file: de uma pasta')
    if (!/^[a-z][a-z0-9_]{0,62}$/.test(name) || reserved.includes(name) || name.startsWith('pg_'))
      refuseOption(
        `${option}.name`,
        `"${name}" cannot be the name of its schema: lower-case letters, digits and _, and none of PostgreSQL's or Retoma's own`,
        `"${name}" não pode ser o nome do esquema dele: letras minúsculas, dígitos e _, e nenhum dos do PostgreSQL ou do Retoma`,
      )
  })
}

/** The parts of an engine's options and of its systems together. An option of a queue's limits wins over a system. */
export function withSystems<Options extends Pick<SystemParts, 'jobs' | 'batches' | 'schedules' | 'guards' | 'limits'>>(
  options: Options,
  systems: readonly SystemParts[],
) {
  const both = <T>(own: readonly T[] = [], theirs: readonly (readonly T[])[]): T[] => [
    ...new Set([...own, ...theirs.flat()]),
  ]
  return {
    jobs: both(
      options.jobs,
      systems.map(each => each.jobs ?? []),
    ),
    batches: both(
      options.batches,
      systems.map(each => each.batches ?? []),
    ),
    schedules: both(
      options.schedules,
      systems.map(each => each.schedules ?? []),
    ),
    guards: both(
      options.guards,
      systems.map(each => each.guards ?? []),
    ),
    limits: Object.assign({}, ...systems.map(each => each.limits ?? {}), options.limits ?? {}) as LimitsByQueue,
  }
}
