/** Gives routes of an application the few internals of the engine that such routes need. */
import { type Engine, internalsOf } from '../engine/create-engine.ts'
import type { Clock } from '../lib/clock.ts'

/** The source of time of the engine: the virtual clock in a test. */
export const clockOf = (engine: Engine): Clock => internalsOf(engine).clock

/**
 * Call after erasing a resource created by an idempotent request of `route` (`post /letters`). Replaces the stored response by the
 * field `id`; repeating the request then fails with `not_found` instead of creating the resource again.
 */
export const forgetResponses = (engine: Engine, route: string, id: string): Promise<void> =>
  internalsOf(engine).forgetAnswers(route, id)
