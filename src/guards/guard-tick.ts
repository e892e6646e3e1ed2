/**
 * Runs a tick of the guards: sweeps each due guard of this process, unless another process has the sweep. Runs in every worker
 * and server with guards; there is no leader, because a process wins a sweep by a single conditional update.
 *
 * Invariant: the error of a failing guard (for example, the table is missing) is stored, logged once, and the guard is tried
 * again at its next sweep; it does not keep other guards from their sweeps. After a crash during a sweep, another process sweeps
 * again `every` later.
 */

import type { Db } from '../database/db.ts'
import { isTransient } from '../database/pg-errors.ts'
import { isRetomaError, type LocalizedText, localized, type RetomaError } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type GuardSweepResult, sweep } from './guard-sweep.ts'
import type { Guard } from './model/guard.ts'
import { type GuardError, noteTurn, readGuards, winTurn } from './sql/guard-runs.ts'

/** Chunks in a tick: a process that stops does not wait for a backlog of millions. The next tick continues at once. */
const chunks = 20
/** Time limit of a statement on a table without an index; beyond it the guard reports `guard_slow`. */
const atMostMs = 6000
export const pollIntervalMs = 60_000

export interface Guards {
  /** Answers the milliseconds until the next guard is due. */
  tick(): Promise<number>
}

export function createGuards(given: {
  db: Db
  clock: Clock
  log: Log
  guards: readonly Guard[]
  /** The queue got jobs. */
  fired: (queue: string) => void
}): Guards {
  const { db, clock, log, guards, fired } = given
  /** Sweeps that this process won and has not finished. */
  const begun = new Set<string>()
  const warned = new Set<string>()

  async function turn(guard: Guard): Promise<void> {
    const { name } = guard
    if (!begun.has(name) && !(await winTurn(db, guard, clock.instant()))) return
    begun.add(name)
    const now = () => clock.instant()
    const swept = await sweep({ db, guard, counted: true, atMostMs, chunks, now }).catch(error => {
      // Database outage: this process keeps the sweep and continues after the outage.
      if (isTransient(error) && !isRetomaError(error, 'guard_slow')) throw error
      return error as Error
    })
    if (swept instanceof Error) log.debug({ err: swept, guard: name }, 'a guard failed')
    else report(guard, swept)
    const error = swept instanceof Error ? asGuardError(swept) : refusalOf(swept)
    const warnings = swept instanceof Error ? null : swept.warnings
    const before = await noteTurn(db, name, { error, warnings }, clock.instant())
    if (error !== null && error.en !== before?.en)
      log.warn({ guard: name, code: error.code, problem: error.en }, 'a guard failed; the next sweep tries again')
    if (error === null && before !== null) log.info({ guard: name }, 'a guard works again')
    if (swept instanceof Error || !swept.more) begun.delete(name)
  }

  function report({ name, enqueue }: Guard, { marked, jobs, rows, warnings }: GuardSweepResult): void {
    if (jobs > 0) fired(enqueue!.job.queue)
    if (marked > 0)
      log.info({ guard: name, marked, sample: rows.slice(0, 5).map(each => each.key) }, 'a guard marked rows')
    for (const { en } of warnings) {
      if (warned.has(`${name} ${en}`)) continue
      warned.add(`${name} ${en}`)
      log.warn({ guard: name }, en)
    }
  }

  return {
    async tick() {
      if (guards.length === 0) return pollIntervalMs
      const checks = await readGuards(db, guards, clock.instant())
      const waits = new Map(checks.map(each => [each.name, each.waitMs]))
      let trouble: unknown
      for (const guard of guards) {
        if (waits.get(guard.name)! > 0 && !begun.has(guard.name)) continue
        await turn(guard).catch(error => {
          trouble = error
        })
      }
      if (trouble !== undefined) throw trouble
      if (begun.size > 0) return 0
      const after = guards.map(({ name, every }) => waits.get(name) || every)
      return Math.min(pollIntervalMs, ...after)
    },
  }
}

export function asGuardError(error: Error): GuardError {
  if (isRetomaError(error)) return { code: error.code, en: error.in('en'), pt: error.in('pt') }
  return { code: 'unexpected', en: error.message, pt: error.message }
}

/** The error to store if some rows were refused. */
export function refusalOf({ refused }: { refused: readonly { error: RetomaError }[] }): GuardError | null {
  const [first] = refused
  if (first === undefined) return null
  const { code, en, pt } = asGuardError(first.error)
  const more: LocalizedText =
    refused.length === 1
      ? localized('', '')
      : localized(`; rows like it: ${refused.length}`, `; linhas assim: ${refused.length}`)
  return { code, en: en + more.en, pt: pt + more.pt }
}
