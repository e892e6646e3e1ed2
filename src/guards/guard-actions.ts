/**
 * Validates the guards of an engine when the engine is created, lists guards, and runs a guard by hand. Ticks run guards on their
 * own.
 */

import type { Db } from '../database/db.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type Refuse, refuseDefinition } from '../errors/invalid-option.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import type { Clock } from '../lib/clock.ts'
import { type GuardRun, previewGuard, runGuard } from './guard-run.ts'
import { asGuardError, refusalOf } from './guard-tick.ts'
import type { Guard } from './model/guard.ts'
import { aboutOf, type GuardView, noteTurn, takeTurn, viewGuards } from './sql/guard-runs.ts'

/** The namespace `engine.guards`. */
export interface GuardsApi {
  /** The guards of this engine and the guards of other processes, by name. */
  list(): Promise<GuardView[]>
  /**
   * Runs a guard now, regardless of the schedule of its sweeps, and marks all lost rows. `which` may be a guard object the engine
   * was not created with. Throws `unknown_guard`, or the reason of a failed run.
   */
  run(
    which: string | Guard,
    options?: {
      /** Counts the lost rows and changes nothing. Default false. */
      dryRun?: boolean
    } & ActedBy,
  ): Promise<GuardRun>
}

export function createGuardActions(given: {
  db: Db
  clock: Clock
  guards: readonly Guard[]
  wake: (queue: string) => void
  closing: AbortSignal
}): GuardsApi {
  const { db, clock, guards, wake, closing } = given
  return {
    async list() {
      const found = await viewGuards(db, clock.instant())
      const missing = guards.filter(({ name }) => found.every(each => each.name !== name))
      return [...found, ...missing.map(notYet)].sort((a, b) => (a.name < b.name ? -1 : 1))
    },

    async run(which, { dryRun = false, ...request } = {}) {
      const by = checkActor(request)
      const guard = typeof which === 'string' ? find(guards, which) : which
      checkGuards([guard])
      const now = () => clock.instant()
      if (dryRun) return previewGuard({ db, guard, now })
      const counted = guards.includes(guard)
      if (counted) await takeTurn(db, guard, by, now())
      const note = (about: Parameters<typeof noteTurn>[2]) => (counted ? noteTurn(db, guard.name, about, now()) : null)
      try {
        const run = await runGuard({ db, guard, counted, signal: closing, now })
        if (run.jobs > 0) wake(guard.enqueue!.job.queue)
        await note({ error: refusalOf(run), warnings: run.warnings })
        return run
      } catch (error) {
        await note({ error: asGuardError(error as Error), warnings: null })
        throw error
      }
    },
  }
}

function find(guards: readonly Guard[], name: string): Guard {
  const guard = guards.find(each => each.name === name)
  if (guard !== undefined) return guard
  const known = guards.map(each => each.name)
  throw new RetomaError('unknown_guard', { name, hint: hintFor(name, known) })
}

/** A guard without any sweep so far. */
function notYet(guard: Guard): GuardView {
  const { name } = guard
  const nothing = { lastSweepAt: null, lastMarked: 0, total: 0, lastError: null, failingSince: null, warnings: [] }
  return { name, ...aboutOf(guard), ...nothing, active: false, late: false }
}

export function checkGuards(guards: readonly Guard[]): void {
  const names = new Set<string>()
  for (const guard of guards) {
    const refuse: Refuse = refuseDefinition(localized(`the guard "${guard?.name}"`, `guard "${guard?.name}"`))
    if (typeof guard?.table !== 'object' || guard.enqueue === undefined)
      refuse('it was not made by defineGuard', 'ele não foi feito por defineGuard')
    if (names.has(guard.name)) refuse('another guard has the same name', 'outro guard tem o mesmo nome')
    names.add(guard.name)
  }
}
