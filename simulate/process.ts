/**
 * One process of the world: an engine with a worker, a watchdog, a janitor and a scheduler, on a wire and a clock of its own. It
 * dies without a word, or freezes as a machine does whose lid is closed, and thaws not knowing that time has passed.
 *
 * Invariant: nothing of the dead ever asks, wakes or writes again.
 */
import { createEngineOn } from '../src/engine/create-engine.ts'
import type { Engine } from '../src/index.ts'
import type { Clock } from '../src/lib/clock.ts'
import type { Time } from './time.ts'
import type { Asker, Wires } from './wire.ts'
import { type Outside, type Work, workOf } from './work.ts'

export class Process implements Asker {
  readonly name: string
  readonly clock: Clock
  readonly work: Work
  /** The names its workers went by. */
  readonly workers = new Set<string>()
  /** Undefined: it is still starting. */
  engine: Engine | undefined
  dead = false
  frozen = false
  /** By how many milliseconds its own clock is wrong. */
  skew = 0
  readonly #last: (() => void)[] = []

  constructor(name: string, time: Time, outside: Outside) {
    this.name = name
    this.clock = time.clockOf(this, () => this.skew)
    this.work = workOf(outside, this.clock)
  }

  /** Resolves when it works; never, when it dies before. One that cannot start is dead: somebody starts another. */
  async start(wires: Wires, databaseUrl: string): Promise<void> {
    const { jobs, batches, schedules, limits } = this.work
    try {
      const engine = await createEngineOn(given => wires.wire(this, given), {
        databaseUrl,
        ...{ jobs, batches, schedules, limits },
        clock: this.clock,
        connections: 2,
        migrate: false,
        rateLimits: 'postgresql',
      })
      await engine.work()
      this.engine = engine
    } catch {
      this.die()
    }
  }

  die(): void {
    if (this.dead) return
    this.dead = true
    for (const then of this.#last) then()
  }

  atDeath(then: () => void): void {
    if (this.dead) then()
    else this.#last.push(then)
  }
}
